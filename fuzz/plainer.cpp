// SPDX-License-Identifier: Apache-2.0
#include "fuzz/plainer.hpp"

#include <algorithm>

#include "fuzz/op_fields.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using Ops = std::vector<AnyOp>;

/// The next operation that mentions what the one at `index` names first; the number of operations
/// when there is none.
std::size_t next_on(std::span<AnyOp const> ops, std::size_t index) {
  std::vector<NameUse> const own = names_in(ops[index]);
  for (++index; index < ops.size() && !own.empty(); ++index) {
    std::vector<NameUse> const names = names_in(ops[index]);
    if (std::find(names.begin(), names.end(), own.front()) != names.end()) {
      return index;
    }
  }
  return ops.size();
}

PlainerWays ways_of(std::span<AnyOp const> ops, std::size_t index) {
  PlainerWays ways{ops, index};
  std::visit([&](auto const& known) { known.plainer(ways); }, ops[index]);
  return ways;
}

}  // namespace

PlainerWays::PlainerWays(std::span<AnyOp const> ops, std::size_t index)
    : ops_{ops}, index_{index}, next_{next_on(ops, index)} {}

std::optional<model::SequenceName> PlainerWays::unused_sequence() const {
  std::uint32_t unused = 0;
  for (AnyOp const& op : ops_) {
    for (NameUse const& use : names_in(op)) {
      if (use.kind == NameKind::kSequence) {
        unused = std::max(unused, use.value + 1);
      }
    }
  }
  return unused < model::kNameLimit ? std::optional{model::SequenceName{unused}} : std::nullopt;
}

std::vector<Ops> PlainerWays::programs() const {
  std::vector<Ops> programs;
  for (Other const& other : others_) {
    Ops& program = programs.emplace_back(ops_.begin(), ops_.end());
    if (other.next) {
      program[next_] = *other.next;
    }
    auto const place = program.erase(program.begin() + static_cast<std::ptrdiff_t>(index_));
    program.insert(place, other.instead.begin(), other.instead.end());
    number_tokens(program);
  }
  return programs;
}

std::optional<AnyOp> joined(AnyOp const& first, AnyOp const& second) {
  AnyOp const ops[] = {first, second};
  return ways_of(ops, 0).joined();
}

std::vector<AnyOp> same_forms(AnyOp const& op) {
  return ways_of({&op, 1}, 0).forms();
}

std::vector<Ops> plainer_programs(Ops const& ops, std::size_t index) {
  return ways_of(ops, index).programs();
}

}  // namespace holdfast::fuzz
