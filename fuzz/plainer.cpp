// SPDX-License-Identifier: Apache-2.0
#include "fuzz/plainer.hpp"

#include <algorithm>

#include "fuzz/op_fields.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using Ops = std::vector<AnyOp>;

/// The program with other operations in the place of one.
Ops with(Ops const& ops, std::size_t index, Ops const& others) {
  Ops changed = ops;
  auto const place = changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(index));
  changed.insert(place, others.begin(), others.end());
  number_tokens(changed);
  return changed;
}

/// The next operation that mentions the sequence; the number of operations when there is none.
std::size_t next_on(Ops const& ops, std::size_t index, model::SequenceName sequence) {
  NameUse const use{.kind = NameKind::kSequence, .value = sequence.value};
  for (++index; index < ops.size(); ++index) {
    std::vector<NameUse> const names = names_in(ops[index]);
    if (std::find(names.begin(), names.end(), use) != names.end()) {
      break;
    }
  }
  return index;
}

/// Rows that are opened and kept at once. A handle without rows is not what an append without rows
/// is, so it has one.
AnyOp append_of(model::SequenceName sequence, std::uint32_t rows, model::StateMode mode) {
  return model::AppendOp{
      .sequence = sequence,
      .count = std::max(rows, 1U),
      .mode = mode == model::StateMode::kRescan ? model::StateMode::kFresh : mode};
}

/// The handle of an append instead of that of a round, and the end of the one for that of the other.
Ops as_begin(Ops const& ops, std::size_t index, model::VerifyOp const& round) {
  Ops changed = ops;
  changed[index] = model::BeginOp{.sequence = round.sequence,
                                  .count = round.count,
                                  .written = round.written,
                                  .piece = round.piece,
                                  .view = round.view,
                                  .skip = round.skip};
  std::size_t const end = next_on(ops, index, round.sequence);
  auto const* const accept = end < ops.size() ? std::get_if<model::AcceptOp>(&ops[end]) : nullptr;
  if (accept != nullptr && accept->keep == 0) {
    changed[end] = model::DropOp{round.sequence};
  } else if (accept != nullptr) {
    changed[end] = model::CommitOp{round.sequence};
  }
  number_tokens(changed);
  return changed;
}

/// What the items of a step do, one after the other.
Ops items_of(model::StepParts const& items, bool plainest) {
  Ops single;
  for (model::StepPart const& item : items) {
    if (item.deed == model::StepDeed::kPad) {
      continue;
    }
    if (plainest || item.keep == item.rows) {
      single.push_back(append_of(item.sequence, item.rows, item.mode));
    } else if (item.deed == model::StepDeed::kAppend) {
      single.push_back(
          model::BeginOp{.sequence = item.sequence, .count = item.rows, .written = item.rows});
      single.push_back(model::DropOp{item.sequence});
    } else {
      single.push_back(
          model::VerifyOp{.sequence = item.sequence, .count = item.rows, .written = item.rows});
      single.push_back(model::AcceptOp{.sequence = item.sequence, .keep = item.keep});
    }
  }
  return single;
}

/// A sequence that the program does not mention; false when there is none.
bool find_unused(Ops const& ops, model::SequenceName& sequence) {
  sequence.value = 0;
  for (AnyOp const& op : ops) {
    for (NameUse const& use : names_in(op)) {
      if (use.kind == NameKind::kSequence) {
        sequence.value = std::max(sequence.value, use.value + 1);
      }
    }
  }
  return sequence.value < model::kNameLimit;
}

}  // namespace

std::vector<Ops> plainer_programs(Ops const& ops, std::size_t index) {
  AnyOp const& op = ops[index];
  if (auto const* const begin = std::get_if<model::BeginOp>(&op)) {
    return {with(ops, index, {append_of(begin->sequence, begin->count, begin->mode)})};
  }
  if (auto const* const round = std::get_if<model::VerifyOp>(&op)) {
    return {with(ops, index, {append_of(round->sequence, round->count, model::StateMode::kFresh)}),
            as_begin(ops, index, *round)};
  }
  if (auto const* const step = std::get_if<model::StepOp>(&op)) {
    return {with(ops, index, items_of(step->items, true)),
            with(ops, index, items_of(step->items, false))};
  }
  if (auto const* const cancel = std::get_if<model::CancelOp>(&op)) {
    return {with(ops, index, items_of(cancel->items, true)),
            with(ops, index, items_of(cancel->items, false))};
  }
  if (auto const* const leave = std::get_if<model::LeaveOp>(&op)) {
    Ops single = items_of(leave->items, false);
    single.push_back(model::ReleaseOp{leave->items.parts[leave->item].sequence});
    return {with(ops, index, single)};
  }
  model::SequenceName fresh;
  if (auto const* const rollback = std::get_if<model::RollbackOp>(&op);
      rollback != nullptr && find_unused(ops, fresh)) {
    return {with(ops, index, {model::ForkOp{rollback->snapshot, fresh}})};
  }
  return {};
}

}  // namespace holdfast::fuzz
