// SPDX-License-Identifier: Apache-2.0
#include "models/target/history.hpp"

#include <algorithm>

namespace holdfast::model {
namespace {

bool is_in(HistoryRow const& row, EngineOp const& op) {
  return row.position >= op.first && row.position < op.end;
}

/// A copy, as it is after bytes or a snapshot: no row was added to it.
EngineHistory as_restored(EngineHistory history) {
  history.added = 0;
  history.last = 0;
  return history;
}

bool begins_with(EngineHistory const& whole, EngineHistory const& part) {
  return whole.rows.size() >= part.rows.size() &&
         std::equal(part.rows.begin(),
                    part.rows.end(),
                    whole.rows.begin(),
                    [](HistoryRow const& a, HistoryRow const& b) {
                      return a.position == b.position && a.token == b.token;
                    });
}

SequenceSet bit(std::uint32_t sequence) {
  return SequenceSet{1} << sequence;
}

}  // namespace

void EngineHistory::append(std::uint32_t token) {
  rows.push_back({next(), token});
  ++added;
  ++last;
  widest = std::max(widest, span());
}

HistoryModel::HistoryModel(Hello const& hello, Knobs const& knobs)
    : hello_{&hello}, knobs_{&knobs}, sequences_(hello.sequences) {}

std::uint32_t HistoryModel::total() const noexcept {
  std::uint32_t rows = 0;
  for (EngineHistory const& history : sequences_) {
    rows += history.size();
  }
  return rows;
}

std::vector<std::uint32_t> HistoryModel::entries(EngineKind saved_by) const {
  std::vector<std::uint32_t> names;
  for (auto const& [name, entry] : entries_) {
    if (entry.kind == saved_by || saved_by == EngineKind::kCount) {
      names.push_back(name);
    }
  }
  return names;
}

std::vector<std::uint32_t> HistoryModel::snapshots() const {
  std::vector<std::uint32_t> names;
  for (auto const& [name, snapshot] : snapshots_) {
    names.push_back(name);
  }
  return names;
}

std::uint32_t HistoryModel::snapshot_of(std::uint32_t snapshot) const {
  auto const found = snapshots_.find(snapshot);
  return found == snapshots_.end() ? 0 : found->second.of;
}

SequenceSet HistoryModel::named(EngineOp const& op) const {
  EngineKindInfo const& info = info_of(op.kind);
  if (info.is(kForAll)) {
    return ~SequenceSet{0};
  }
  SequenceSet set = 0;
  for (EngineItem const& item : op.items) {
    set |= bit(item.sequence);
  }
  if (info.has(kSequence) && !info.is(kOnlyReads)) {
    set |= bit(op.sequence);
  }
  return info.has(kTo) ? set | bit(op.to) : set;
}

bool HistoryModel::makes_sense(EngineOp const& op) const {
  return is_said_of_what_is_there(op) && !reads_lost(op);
}

bool HistoryModel::is_said_of_what_is_there(EngineOp const& op) const {
  EngineKindInfo const& info = info_of(op.kind);
  auto const exists = [&](std::uint32_t name) { return name < sequences_.size(); };
  if ((info.has(kSequence) && !exists(op.sequence)) || (info.has(kTo) && !exists(op.to)) ||
      std::any_of(op.items.begin(), op.items.end(), [&](EngineItem const& item) {
        return !exists(item.sequence) || item.rows == 0;
      })) {
    return false;
  }
  if (info.is(kLoads)) {
    auto const found = entries_.find(op.entry);
    bool const is_part = op.kind == EngineKind::kLoadPart;
    return found == entries_.end() ||
           (found->second.kind == saver_of(op.kind) &&
            (!is_part || begins_with(sequences_[op.sequence], found->second.histories.front())));
  }
  if (op.kind == EngineKind::kRollback) {
    auto const found = snapshots_.find(op.snapshot);
    return found == snapshots_.end() || found->second.of == op.sequence;
  }
  if (op.kind == EngineKind::kShift && op.by < 0) {
    auto const& rows = sequences_[op.sequence].rows;
    return std::none_of(rows.begin(), rows.end(), [&](HistoryRow const& row) {
      return is_in(row, op) && row.position < static_cast<std::uint32_t>(-op.by);
    });
  }
  return true;
}

HistoryModel::Cut HistoryModel::cut_of(std::uint32_t sequence, EngineOp const& op) const {
  EngineHistory const& history = sequences_[sequence];
  std::uint32_t const size = history.size();
  std::uint32_t rows = 0;
  bool ends = false;
  if (op.kind == EngineKind::kDraft) {
    return {op.rows - op.keep, true, false};
  }
  if (op.kind == EngineKind::kRollback || op.kind == EngineKind::kLoadPart) {
    bool const is_part = op.kind == EngineKind::kLoadPart;
    auto const entry = entries_.find(op.entry);
    auto const snapshot = snapshots_.find(op.snapshot);
    if (is_part ? entry == entries_.end() : snapshot == snapshots_.end()) {
      return {};
    }
    EngineHistory const& old = is_part ? entry->second.histories.front() : snapshot->second.history;
    rows = size - std::min(size, old.size());
    return {rows, true, rows == size};
  }
  for (HistoryRow const& row : history.rows) {
    ends = is_in(row, op);
    rows += ends ? 1 : 0;
  }
  return {rows, ends, rows == size};
}

std::vector<std::uint32_t> HistoryModel::cut_sequences(EngineOp const& op) const {
  EngineKindInfo const& info = info_of(op.kind);
  std::vector<std::uint32_t> names;
  for (std::uint32_t s = 0; s < sequences() && info.is(kCuts); ++s) {
    if (info.is(kForAll) || s == op.sequence) {
      names.push_back(s);
    }
  }
  return names;
}

bool HistoryModel::holds_for_cut(Clause const& clause, EngineOp const& op) const {
  std::uint32_t const number = clause.number.under(*knobs_);
  for (std::uint32_t const s : cut_sequences(op)) {
    Cut const cut = cut_of(s, op);
    if (cut.rows == 0 || cut.is_whole) {
      continue;
    }
    EngineHistory const& history = sequences_[s];
    std::uint32_t const added = history.added + (op.kind == EngineKind::kDraft ? op.rows : 0);
    std::uint32_t const widest =
        std::max(history.widest, history.span() + (op.kind == EngineKind::kDraft ? op.rows : 0));
    bool const is_met =
        clause.condition == Condition::kPartial ||
        (clause.condition == Condition::kMiddle && !cut.ends) ||
        (clause.condition == Condition::kDeeper && cut.ends &&
         cut.rows > std::min(number, added)) ||
        (clause.condition == Condition::kLast && cut.ends && cut.rows >= history.last) ||
        (clause.condition == Condition::kWindow && cut.ends && widest > number);
    if (is_met) {
      return true;
    }
  }
  return false;
}

/// Rows that each sequence has afterwards.
std::vector<std::uint32_t> HistoryModel::growth(EngineOp const& op) const {
  std::vector<std::uint32_t> rows;
  for (EngineHistory const& history : sequences_) {
    rows.push_back(history.size());
  }
  for (EngineItem const& item : op.items) {
    rows[item.sequence] += item.rows;
  }
  auto const entry = entries_.find(op.entry);
  auto const snapshot = snapshots_.find(op.snapshot);
  if (op.kind == EngineKind::kDraft) {
    rows[op.sequence] += op.rows;
  } else if (op.kind == EngineKind::kCopy) {
    rows[op.to] = rows[op.sequence];
  } else if ((op.kind == EngineKind::kLoad || op.kind == EngineKind::kLoadAll) &&
             entry != entries_.end()) {
    bool const all = op.kind == EngineKind::kLoadAll;
    for (std::size_t i = 0; i < entry->second.histories.size(); ++i) {
      rows[all ? i : op.sequence] = entry->second.histories[i].size();
    }
  } else if (op.kind == EngineKind::kLoadPart && entry != entries_.end()) {
    rows[op.sequence] = entry->second.histories.front().size();
  } else if ((op.kind == EngineKind::kFork || op.kind == EngineKind::kRollback) &&
             snapshot != snapshots_.end()) {
    rows[op.sequence] = snapshot->second.history.size();
  }
  return rows;
}

bool HistoryModel::is_full(EngineOp const& op) const {
  std::uint32_t total = 0;
  for (std::uint32_t const rows : growth(op)) {
    total += rows;
  }
  return total > hello_->context || rows_of(op) > hello_->batch;
}

bool HistoryModel::is_longer(EngineOp const& op, std::uint32_t most) const {
  std::vector<std::uint32_t> const rows = growth(op);
  return std::any_of(rows.begin(), rows.end(), [&](std::uint32_t size) { return size > most; });
}

bool HistoryModel::reads_empty(EngineOp const& op) const {
  switch (op.kind) {
    case EngineKind::kCopy:
    case EngineKind::kKeep:
    case EngineKind::kSave:
    case EngineKind::kSavePart:
    case EngineKind::kSnapshot:
    case EngineKind::kShift:
    case EngineKind::kRemove:
      return sequences_[op.sequence].rows.empty();
    case EngineKind::kSaveAll:
      return total() == 0;
    case EngineKind::kLoad:
    case EngineKind::kLoadPart: {
      auto const found = entries_.find(op.entry);
      return found != entries_.end() && found->second.histories.front().rows.empty();
    }
    case EngineKind::kRollback:
    case EngineKind::kFork: {
      auto const found = snapshots_.find(op.snapshot);
      return found != snapshots_.end() && found->second.history.rows.empty();
    }
    default:
      return false;
  }
}

bool HistoryModel::writes_live(EngineOp const& op) const {
  bool const to = op.kind == EngineKind::kCopy;
  bool const one = to || op.kind == EngineKind::kLoad || op.kind == EngineKind::kFork;
  return (one && !sequences_[to ? op.to : op.sequence].rows.empty()) ||
         (op.kind == EngineKind::kLoadAll && total() != 0);
}

bool HistoryModel::is_missing(EngineOp const& op) const {
  bool const needs_entry = info_of(op.kind).is(kLoads) || op.kind == EngineKind::kDamage;
  bool const needs_snapshot = op.kind == EngineKind::kRollback || op.kind == EngineKind::kFork ||
                              op.kind == EngineKind::kDropSnapshot;
  return (needs_entry && entries_.count(op.entry) == 0) ||
         (needs_snapshot && snapshots_.count(op.snapshot) == 0) ||
         (op.kind == EngineKind::kFork && writes_live(op));
}

bool HistoryModel::touches_lost(EngineOp const& op) const {
  SequenceSet set = named(op);
  if (info_of(op.kind).has(kSequence)) {
    set |= bit(op.sequence);
  }
  bool any = false;
  for (std::uint32_t s = 0; s < sequences(); ++s) {
    any = any || sequences_[s].lost;
    if (((set >> s) & 1U) != 0 && sequences_[s].lost) {
      return true;
    }
  }
  return any && rows_of(op) != 0;  // nobody knows how much room there is
}

bool HistoryModel::holds(Clause const& clause, EngineOp const& op) const {
  switch (clause.condition) {
    case Condition::kAny:
      return true;
    case Condition::kFull:
      return is_full(op);
    case Condition::kLonger:
      return is_longer(op, clause.number.under(*knobs_));
    case Condition::kLive:
      return writes_live(op);
    case Condition::kEmpty:
      return reads_empty(op);
    case Condition::kBounded:
      return op.end != kNoBound;
    case Condition::kDamaged: {
      auto const found = entries_.find(op.entry);
      return info_of(op.kind).is(kLoads) && found != entries_.end() && found->second.damaged;
    }
    default:
      return holds_for_cut(clause, op);
  }
}

bool HistoryModel::reads_lost(EngineOp const& op) const {
  bool const bounded = op.first != 0 || op.end != kNoBound;
  bool const any = std::any_of(
      sequences_.begin(), sequences_.end(), [](EngineHistory const& one) { return one.lost; });
  for (EngineItem const& item : op.items) {
    if (sequences_[item.sequence].lost) {
      return true;
    }
  }
  switch (op.kind) {
    case EngineKind::kRemoveEvery:
      return any && bounded;
    case EngineKind::kSaveAll:
      return any;
    case EngineKind::kRemove:
      return sequences_[op.sequence].lost && bounded;
    case EngineKind::kDraft:
    case EngineKind::kCopy:
    case EngineKind::kKeep:
    case EngineKind::kShift:
    case EngineKind::kSave:
    case EngineKind::kSavePart:
    case EngineKind::kLoadPart:
    case EngineKind::kSnapshot:
      return sequences_[op.sequence].lost;
    default:
      return false;
  }
}

Reply HistoryModel::likely(EngineOp const& op) const {
  return may_refuse(op) ? Reply::kRefused : may_be_weak(op) ? Reply::kWeak : Reply::kOk;
}

bool HistoryModel::may_refuse(EngineOp const& op) const {
  return is_missing(op) || touches_lost(op) ||
         std::any_of(hello_->legal.begin(), hello_->legal.end(), [&](Clause const& clause) {
           return clause.is_for(op.kind, *knobs_) && holds(clause, op);
         });
}

bool HistoryModel::may_be_weak(EngineOp const& op) const {
  return touches_lost(op) ||
         std::any_of(hello_->weak.begin(), hello_->weak.end(), [&](Clause const& clause) {
           return clause.is_for(op.kind, *knobs_) && holds(clause, op);
         });
}

void HistoryModel::apply(EngineOp const& op, Reply reply) {
  bool const done = reply == Reply::kOk || reply == Reply::kWeak;
  expected_.clear();
  if (op.kind == EngineKind::kDecode) {
    decode(op, done);
  } else if (op.kind == EngineKind::kDraft) {
    draft(op, done);
  } else if (done) {
    change(op);
  }
  SequenceSet const set = reply == Reply::kWeak ? named(op) : 0;
  for (std::uint32_t s = 0; s < sequences(); ++s) {
    bool const is_live = !sequences_[s].rows.empty();
    sequences_[s].lost = sequences_[s].lost || (((set >> s) & 1U) != 0 && is_live);
  }
}

void HistoryModel::decode(EngineOp const& op, bool done) {
  for (EngineItem const& item : op.items) {
    sequences_[item.sequence].last = 0;
  }
  for (EngineItem const& item : op.items) {
    EngineHistory& history = sequences_[item.sequence];
    for (std::uint32_t row = 0; done && row < item.rows; ++row) {
      history.append((item.token + row) % hello_->vocabulary);
      if (item.wants(row)) {
        Expected& expected = expected_.emplace_back();
        if (!history.weak && !history.lost) {
          expected.first = history.rows.front().position;
          for (HistoryRow const& known : history.rows) {
            expected.tokens.push_back(known.token);
          }
        }
      }
    }
  }
}

void HistoryModel::draft(EngineOp const& op, bool done) {
  if (!done) {
    return;
  }
  EngineHistory const before = sequences_[op.sequence];
  decode({.items = {{op.sequence, op.rows, op.token, Ask::kAll}}}, true);
  EngineHistory& history = sequences_[op.sequence];
  std::uint32_t const widest = history.widest;
  history = before;
  for (std::uint32_t row = 0; row < op.keep; ++row) {
    history.append((op.token + row) % hello_->vocabulary);
  }
  if (!history.rows.empty()) {
    history.widest = widest;
  }
}

void HistoryModel::remove(std::uint32_t sequence, EngineOp const& op) {
  EngineHistory& history = sequences_[sequence];
  Cut const cut = cut_of(sequence, op);
  if (history.lost ? op.first == 0 && op.end == kNoBound : cut.is_whole) {
    empty(sequence);
    return;
  }
  if (cut.rows == 0 || history.lost) {
    return;
  }
  history.weak = history.weak || !cut.ends;
  history.rows.erase(std::remove_if(history.rows.begin(),
                                    history.rows.end(),
                                    [&](HistoryRow const& row) { return is_in(row, op); }),
                     history.rows.end());
  history.last = 0;
  std::uint32_t const kept = std::min(history.added, depth());
  history.added = kept - std::min(kept, cut.rows);
}

/// Rows that can be taken back at a sequence's end, by what the engine declares.
std::uint32_t HistoryModel::depth() const {
  std::uint32_t depth = kNoBound;
  for (Clause const& clause : hello_->legal) {
    if (clause.condition == Condition::kDeeper && clause.is_for(EngineKind::kRemove, *knobs_)) {
      depth = std::min(depth, clause.number.under(*knobs_));
    }
  }
  return depth;
}

void HistoryModel::shift(EngineOp const& op) {
  EngineHistory& history = sequences_[op.sequence];
  Cut const cut = cut_of(op.sequence, op);
  history.weak = history.weak || (cut.rows != 0 && !cut.is_whole);
  for (HistoryRow& row : history.rows) {
    row.position += is_in(row, op) ? static_cast<std::uint32_t>(op.by) : 0;
  }
  std::stable_sort(
      history.rows.begin(), history.rows.end(), [](HistoryRow const& a, HistoryRow const& b) {
        return a.position < b.position;
      });
  history.widest = std::max(history.widest, history.span());
}

void HistoryModel::save(EngineOp const& op) {
  Entry entry{.kind = op.kind};
  if (op.kind == EngineKind::kSaveAll) {
    entry.histories = sequences_;
  } else {
    entry.histories = {sequences_[op.sequence]};
  }
  entries_[op.entry] = entry;
}

void HistoryModel::load(EngineOp const& op) {
  auto const found = entries_.find(op.entry);
  if (found == entries_.end()) {
    return;
  }
  bool const all = op.kind == EngineKind::kLoadAll;
  for (std::size_t i = 0; i < found->second.histories.size(); ++i) {
    EngineHistory& history = sequences_[all ? i : op.sequence];
    bool const was_weak = op.kind == EngineKind::kLoadPart && history.weak;
    history = as_restored(found->second.histories[i]);
    history.weak = history.weak || was_weak;
    history.lost = history.lost || found->second.damaged;
  }
}

void HistoryModel::change(EngineOp const& op) {
  auto const snapshot = snapshots_.find(op.snapshot);
  switch (op.kind) {
    case EngineKind::kRemove:
      remove(op.sequence, op);
      break;
    case EngineKind::kRemoveEvery:
      for (std::uint32_t s = 0; s < sequences(); ++s) {
        remove(s, op);
      }
      break;
    case EngineKind::kCopy: {
      EngineHistory const from = sequences_[op.sequence];
      sequences_[op.to] = from;
      break;
    }
    case EngineKind::kKeep:
    case EngineKind::kClear:
      for (std::uint32_t s = 0; s < sequences(); ++s) {
        if (op.kind == EngineKind::kClear || s != op.sequence) {
          empty(s);
        }
      }
      break;
    case EngineKind::kShift:
      shift(op);
      break;
    case EngineKind::kSave:
    case EngineKind::kSaveAll:
    case EngineKind::kSavePart:
      save(op);
      break;
    case EngineKind::kLoad:
    case EngineKind::kLoadAll:
    case EngineKind::kLoadPart:
      load(op);
      break;
    case EngineKind::kDamage:
      if (auto const entry = entries_.find(op.entry); entry != entries_.end()) {
        entry->second.damaged = true;
      }
      break;
    case EngineKind::kSnapshot:
      snapshots_[op.snapshot] = {op.sequence, sequences_[op.sequence]};
      break;
    case EngineKind::kRollback:
    case EngineKind::kFork:
      if (snapshot != snapshots_.end()) {
        sequences_[op.sequence] = as_restored(snapshot->second.history);
      }
      break;
    case EngineKind::kDropSnapshot:
      snapshots_.erase(op.snapshot);
      break;
    case EngineKind::kDecode:
    case EngineKind::kDraft:
    case EngineKind::kCount:
      break;
  }
}

}  // namespace holdfast::model
