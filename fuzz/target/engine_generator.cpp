// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/engine_generator.hpp"

#include <algorithm>
#include <numeric>

namespace holdfast::fuzz {
namespace {

using model::EngineKind;
using model::EngineOp;
using model::HistoryModel;
using model::Source;

constexpr std::uint32_t kNames = 3;  // entries and snapshots of a program
constexpr std::uint32_t kNonsense = 24;
constexpr std::uint32_t kAgain = 3;  // one in so many operations is on the sequence of the last one

std::uint32_t one_of(std::vector<std::uint32_t> const& values, Source& source) {
  return values[source.below(static_cast<std::uint32_t>(values.size()))];
}

model::Ask draw_ask(Source& source) {
  switch (source.below(8)) {
    case 0:
      return model::Ask::kNone;
    case 1:
      return model::Ask::kAll;
    case 2:
      return model::Ask::kEverySecond;
    case 3:
      return model::Ask::kFirst;
    default:
      return model::Ask::kLast;
  }
}

}  // namespace

std::vector<EngineOp> probes_of(std::vector<std::uint32_t> const& sequences, std::uint32_t token) {
  std::vector<EngineOp> probes;
  for (std::uint32_t const s : sequences) {
    probes.push_back({.items = {{s, 1, token++, model::Ask::kLast}}});
  }
  return probes;
}

EngineGenerator::EngineGenerator(model::Hello const& hello,
                                 Target const& target,
                                 std::string tried_again)
    : hello_{hello}, target_{target}, tried_again_{std::move(tried_again)} {}

model::Knobs EngineGenerator::draw_knobs(Source& source) const {
  model::Knobs knobs;
  for (model::KnobInfo const& knob : hello_.knobs) {
    auto const only = target_.knobs.find(knob.name);
    auto const& values = only == target_.knobs.end() ? knob.values : only->second;
    knobs[knob.name] = values[source.below(static_cast<std::uint32_t>(values.size()))];
  }
  return knobs;
}

/// Every other program has some of the operations, with other weights.
EngineGenerator::Weights EngineGenerator::draw_weights(Source& source) const {
  Weights weights{};
  bool const some = source.one_in(2);
  for (std::uint32_t kind = 0; kind < weights.size(); ++kind) {
    auto const known = static_cast<EngineKind>(kind);
    std::uint32_t weight = hello_.has(known) ? 4 * model::info_of(known).weight : 0;
    if (known == EngineKind::kDecode) {
      weight >>= source.below(4);  // little between the others shows what only they do
    } else if (some) {
      weight = source.one_in(2) ? 0 : (weight * 2) >> source.below(3);
    }
    weights[kind] = weight;
  }
  return weights;
}

EngineProgram EngineGenerator::program(std::uint64_t seed) const {
  Source source{seed};
  EngineProgram program{.knobs = draw_knobs(source),
                        .seed = static_cast<std::uint32_t>(seed >> 33U)};
  HistoryModel model{hello_, program.knobs};
  Draft draft{.source = source, .model = model, .weights = draw_weights(source)};
  draft.sequences = source.between(1, std::min(hello_.sequences, source.one_in(8) ? 16U : 4U));
  draft.likes_edges = source.one_in(2);
  std::uint32_t const length = source.one_in(2) ? source.between(3, 10) : source.between(8, 24);
  Weights upto{};
  std::partial_sum(draft.weights.begin(), draft.weights.end(), upto.begin());
  for (std::uint32_t attempt = 0; attempt < 4 * length && draft.ops.size() < length; ++attempt) {
    std::uint32_t const drawn = source.below(upto.back());
    std::uint32_t kind = 0;
    while (upto[kind] <= drawn) {
      ++kind;
    }
    EngineOp op{.kind = static_cast<EngineKind>(kind)};
    if (draw(op.kind, draft, op) && add(op, draft) && op.kind == EngineKind::kDamage) {
      load_damaged(op, draft);
    }
  }
  add_probes(draft);
  program.ops = std::move(draft.ops);
  program.left_out = draft.left_out;
  program.avoids_all_but = tried_again_;
  return program;
}

/// Takes an operation into the program, and believes what it is likely to answer.
bool EngineGenerator::add(EngineOp const& op, Draft& draft) const {
  if (!draft.model.makes_sense(op)) {
    return false;
  }
  if (is_avoided(target_, tried_again_, op, draft.ops, draft.model)) {
    ++draft.left_out;
    return false;
  }
  draft.model.apply(op, draft.model.likely(op));
  draft.ops.push_back(op);
  model::EngineKindInfo const& info = model::info_of(op.kind);
  draft.last = !op.items.empty()            ? op.items.front().sequence
               : info.has(model::kTo)       ? op.to
               : info.has(model::kSequence) ? op.sequence
                                            : draft.last;
  return true;
}

/// Damage shows when the bytes are loaded.
void EngineGenerator::load_damaged(EngineOp const& damage, Draft& draft) const {
  for (EngineKind const kind : {EngineKind::kLoad, EngineKind::kLoadAll, EngineKind::kLoadPart}) {
    auto const names = draft.model.entries(saver_of(kind));
    bool const is_it = std::find(names.begin(), names.end(), damage.entry) != names.end();
    if (is_it && hello_.has(kind) && !draft.source.one_in(4)) {
      add({.kind = kind, .sequence = draft.source.below(draft.sequences), .entry = damage.entry},
          draft);
    }
  }
}

void EngineGenerator::add_probes(Draft& draft) const {
  std::vector<std::uint32_t> names;
  for (std::uint32_t s = 0; s < hello_.sequences; ++s) {
    if (draft.model.history(s).size() != 0 || s == 0) {
      names.push_back(s);
    }
  }
  for (EngineOp const& probe : probes_of(names, draft.token)) {
    add(probe, draft);
  }
}

std::uint32_t EngineGenerator::live_sequence(Draft& draft) const {
  std::vector<std::uint32_t> live;
  for (std::uint32_t s = 0; s < draft.sequences; ++s) {
    if (draft.model.history(s).size() != 0) {
      live.push_back(s);
    }
  }
  if (live.empty() || draft.source.one_in(kNonsense)) {
    return draft.source.below(draft.sequences);
  }
  bool const again = draft.source.one_in(kAgain) && draft.model.history(draft.last).size() != 0;
  return again ? draft.last : one_of(live, draft.source);
}

/// Any sequence of the program; the one that was written last more often than others.
std::uint32_t EngineGenerator::any_sequence(Draft& draft) const {
  return draft.source.one_in(kAgain) ? draft.last : draft.source.below(draft.sequences);
}

/// Rows that a sequence of this size gets: few, or up to an edge.
std::uint32_t EngineGenerator::rows_for(std::uint32_t size, Draft& draft) const {
  Source& source = draft.source;
  if (draft.likes_edges && !hello_.edges.empty() && source.one_in(2)) {
    auto const& edges = hello_.edges;
    std::uint32_t const edge =
        std::max(1U,
                 edges[source.below(static_cast<std::uint32_t>(edges.size()))].number.under(
                     draft.model.knobs()));
    std::uint32_t const to_edge = edge - size % edge + source.below(3);
    return std::max(1U, to_edge - 1);
  }
  return source.one_in(6) ? source.between(1, 16) : source.between(1, 6);
}

/// Rows that are still free, by what the adapter declares.
std::uint32_t EngineGenerator::room(Draft const& draft) const {
  std::uint32_t const total = draft.model.total();
  return total < hello_.context ? hello_.context - total : 0;
}

/// Some prompts begin as one before them did, so that an engine that keeps prefixes finds one.
std::uint32_t EngineGenerator::first_token(std::uint32_t sequence, Draft& draft) const {
  if (draft.model.history(sequence).size() != 0) {
    return draft.token;
  }
  if (!draft.prompts.empty() && draft.source.one_in(3)) {
    return one_of(draft.prompts, draft.source);
  }
  draft.prompts.push_back(draft.token);
  return draft.token;
}

void EngineGenerator::draw_decode(Draft& draft, EngineOp& op) const {
  Source& source = draft.source;
  std::uint32_t const items = source.one_in(3) ? source.between(2, 4) : 1;
  std::uint32_t left = source.one_in(64) ? hello_.batch + 1 : std::min(hello_.batch, room(draft));
  left = left == 0 && source.one_in(8) ? 1 : left;  // one too many
  for (std::uint32_t i = 0; i < items && left != 0; ++i) {
    std::uint32_t const s = any_sequence(draft);
    std::uint32_t const rows = std::min(left, rows_for(draft.model.history(s).size(), draft));
    std::uint32_t const token = first_token(s, draft);
    op.items.push_back({s, rows, token, draw_ask(source)});
    draft.token = std::max(draft.token, token + rows);
    left -= rows;
  }
}

bool EngineGenerator::draw_draft(Draft& draft, EngineOp& op) const {
  op.sequence = live_sequence(draft);
  op.rows = std::min({draft.source.between(1, 5), hello_.batch, room(draft)});
  op.keep = draft.source.below(op.rows + 1);
  op.token = draft.token;
  draft.token += op.rows;
  return op.rows != 0;
}

/// A range of a sequence: a tail more often than not.
void EngineGenerator::draw_range(Draft& draft, EngineOp& op) const {
  Source& source = draft.source;
  op.sequence = live_sequence(draft);
  model::EngineHistory const& history = draft.model.history(op.sequence);
  std::uint32_t const first = history.rows.empty() ? 0 : history.rows.front().position;
  std::uint32_t const next = history.next();
  std::uint32_t const size = history.size();
  std::uint32_t const tail =
      std::min(size, source.one_in(3) ? source.below(size + 1) : source.between(1, 4));
  switch (source.below(8)) {
    case 0:  // all, without bounds
      break;
    case 1:  // all, with them
      op.first = source.one_in(2) ? first : 0;
      op.end = next;
      break;
    case 2:  // from the beginning, or from the middle
      op.first = first + (source.one_in(2) ? 0 : source.below(size + 1));
      op.end = op.first + source.below(size + 2);
      break;
    default:
      op.first = next - tail;
      op.end = source.one_in(3) ? next + source.below(3) : model::kNoBound;
  }
}

void EngineGenerator::draw_shift(Draft& draft, EngineOp& op) const {
  Source& source = draft.source;
  op.sequence = live_sequence(draft);
  model::EngineHistory const& history = draft.model.history(op.sequence);
  std::uint32_t const first = history.rows.empty() ? 0 : history.rows.front().position;
  op.by = static_cast<std::int32_t>(source.between(1, 8));
  if (first != 0 && source.one_in(2)) {
    op.by = -static_cast<std::int32_t>(source.between(1, first));
  }
  if (source.one_in(8)) {
    op.first = first + source.below(history.size() + 1);
    op.by = std::abs(op.by);
  }
}

bool EngineGenerator::draw_entry(Draft& draft, EngineOp& op) const {
  Source& source = draft.source;
  op.entry = source.below(kNames);
  op.sequence = op.kind == EngineKind::kSave || op.kind == EngineKind::kSavePart
                    ? live_sequence(draft)
                    : any_sequence(draft);
  if (op.kind == EngineKind::kSave || op.kind == EngineKind::kSaveAll ||
      op.kind == EngineKind::kSavePart) {
    return true;
  }
  auto const names = draft.model.entries(saver_of(op.kind));
  if (!names.empty()) {
    op.entry = one_of(names, source);
  } else if (!source.one_in(kNonsense)) {
    return false;
  }
  if (op.kind == EngineKind::kLoadPart) {
    op.sequence = live_sequence(draft);
  } else if (op.kind == EngineKind::kDamage && source.one_in(4)) {
    op.cut = source.between(1, source.one_in(2) ? 8 : 512);
  } else if (op.kind == EngineKind::kDamage) {
    op.flip =
        source.below(1U << source.between(1, 16));  // what is first is counts, more often than not
  }
  return true;
}

bool EngineGenerator::draw_snapshot(Draft& draft, EngineOp& op) const {
  Source& source = draft.source;
  op.snapshot = source.below(kNames);
  op.sequence = live_sequence(draft);
  if (op.kind == EngineKind::kSnapshot) {
    return true;
  }
  auto const names = draft.model.snapshots();
  if (names.empty() || source.one_in(kNonsense)) {
    return source.one_in(4);
  }
  op.snapshot = one_of(names, source);
  if (op.kind == EngineKind::kRollback) {
    op.sequence = draft.model.snapshot_of(op.snapshot);
  }
  for (std::uint32_t s = 0; op.kind == EngineKind::kFork && s < draft.sequences; ++s) {
    if (draft.model.history(s).rows.empty()) {
      op.sequence = s;
    }
  }
  return true;
}

bool EngineGenerator::draw(EngineKind kind, Draft& draft, EngineOp& op) const {
  Source& source = draft.source;
  switch (kind) {
    case EngineKind::kDecode:
      draw_decode(draft, op);
      return !op.items.empty();
    case EngineKind::kDraft:
      return draw_draft(draft, op);
    case EngineKind::kRemove:
      draw_range(draft, op);
      return true;
    case EngineKind::kRemoveEvery:
      draw_range(draft, op);
      op.sequence = 0;
      return true;
    case EngineKind::kCopy:
      op.sequence = live_sequence(draft);
      op.to = source.below(draft.sequences);
      return op.sequence != op.to || source.one_in(8);
    case EngineKind::kKeep:
      op.sequence = live_sequence(draft);
      return true;
    case EngineKind::kShift:
      draw_shift(draft, op);
      return true;
    case EngineKind::kClear:
      return true;
    case EngineKind::kSnapshot:
    case EngineKind::kRollback:
    case EngineKind::kFork:
    case EngineKind::kDropSnapshot:
      return draw_snapshot(draft, op);
    case EngineKind::kSave:
    case EngineKind::kLoad:
    case EngineKind::kSaveAll:
    case EngineKind::kLoadAll:
    case EngineKind::kSavePart:
    case EngineKind::kLoadPart:
    case EngineKind::kDamage:
      return draw_entry(draft, op);
    case EngineKind::kCount:
      break;
  }
  return false;
}

}  // namespace holdfast::fuzz
