// SPDX-License-Identifier: Apache-2.0
// restore: looks a prompt up and starts a sequence with the longest usable prefix, under the next name.
#pragma once

#include <span>

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// restore entry=e0 first=5 rest=2 token=9 scope=0 limit=64 sequence=s1
struct RestoreOp {
  static constexpr char const* kName = "restore";
  static constexpr char const* kMeaning =
      "starts a sequence from the longest prefix entry that fits its tokens";
  static constexpr Effects kEffects{.makes = Thing::kSequence, .loads = Thing::kEntry};
  static constexpr Weight kWeight{.mix = 6};
  PrefixQuery query;
  SequenceName sequence;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.is_created(query.entry) && !model.sequence(sequence).created &&
           are_sane(query.rest, query.token) && query.scope < kScopeCount;
  }
  Observation apply(Model& model, Observation const& got) const {
    return model.restore(query, sequence, got);
  }
  Observation run(System& system) const { return system.restore(query, sequence); }
  static std::optional<RestoreOp> generate(GenerateContext const& context) {
    constexpr std::uint32_t kAnyEntryRate = 8;  // what was erased must miss, or hit another entry
    Source& source = context.source;
    auto const entry = pick_entry(context, kAnyEntryRate);
    if (!entry || context.model.next_sequence() >= kNameLimit) {
      return std::nullopt;
    }
    ModelEntry const& known = context.model.entry(*entry);
    auto const length = static_cast<std::uint32_t>(known.history.tokens.size());
    RestoreOp op{.sequence = {context.model.next_sequence()}};
    op.query.entry = *entry;
    // The whole entry, a little less, or any part of it.
    op.query.first = source.one_in(2)   ? length
                     : source.one_in(2) ? length - std::min(length, source.below(5))
                                        : source.below(length + 1);
    op.query.rest = source.one_in(3) ? 0 : source.below(4);
    op.query.token = context.model.next_token();
    op.query.keys = pick_keys(context, op.query.token);
    op.query.scope = source.one_in(12) ? source.below(kScopeCount) : known.scope;
    op.query.limit =
        source.one_in(4) ? source.below(length + 2) : context.model.shape().capacity.tokens;
    return op;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("entry", query.entry);
    visit("first", query.first);
    visit("rest", query.rest);
    visit("token", query.token);
    visit("scope", query.scope);
    visit("limit", query.limit);
    visit("sequence", sequence);
    visit("keys", query.keys, KeyRule{});
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    if (scope.model.next_entry() == 0 || !scope.has_room()) {
      return;
    }
    // All of the entry; at first also one row less, into the middle of a page and pool, then other
    // tokens, and under another scope.
    EntryName const entry{0};
    Token const token = scope.model.next_token();
    auto const length = static_cast<std::uint32_t>(scope.model.entry(entry).history.tokens.size());
    std::uint32_t const page = scope.shape().page_rows;
    std::uint32_t const middle = page + page / 2;
    PrefixQuery const queries[] = {
        {entry, length, 0, token, 0, length},
        {entry, length, 0, token, 0, length - 1},
        {entry, middle, length - middle, token, 0, length},
        {entry, length, 0, token, 1, length},
    };
    for (PrefixQuery const& query : std::span{queries}.first(scope.is_first ? 4 : 1)) {
      add(RestoreOp{query, {scope.model.next_sequence()}});
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
