// SPDX-License-Identifier: Apache-2.0
#include "adapters/toy/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace toy {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15U)) * 0xbf58476d1ce4e5b9U;
  x ^= x >> 29U;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 32U);
}

void remake_keys(Sequence& sequence) {
  sequence.keys.clear();
  for (std::size_t at = 0; at + kPool <= sequence.rows.size(); at += kPool) {
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < kPool; ++i) {
      key = mix(key, sequence.rows[at + i].token);
    }
    sequence.keys.push_back(key);
  }
}

template <typename T>
void put(Bytes& bytes, T value) {
  std::uint8_t raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.insert(bytes.end(), raw, raw + sizeof(T));
}

template <typename T>
T take(Bytes const& bytes, std::size_t& at) {
  T value{};
  if (at + sizeof(T) <= bytes.size()) {
    std::memcpy(&value, bytes.data() + at, sizeof(T));
  }
  at += sizeof(T);
  return value;
}

std::uint64_t checksum(Bytes const& bytes, std::size_t size) {
  std::uint64_t sum = size;
  for (std::size_t i = 0; i < size; ++i) {
    sum = mix(sum, bytes[i]);
  }
  return sum;
}

bool is_whole(Bytes const& bytes) {
  std::size_t at = bytes.size() < sizeof(std::uint64_t) ? 0 : bytes.size() - sizeof(std::uint64_t);
  std::size_t const size = at;
  return bytes.size() > sizeof(std::uint64_t) &&
         take<std::uint64_t>(bytes, at) == checksum(bytes, size);
}

void put_rows(Bytes& bytes, std::vector<Row> const& rows) {
  put(bytes, static_cast<std::uint32_t>(rows.size()));
  for (Row const& row : rows) {
    put(bytes, row);
  }
}

std::vector<Row> take_rows(Bytes const& bytes, std::size_t& at) {
  std::vector<Row> rows(take<std::uint32_t>(bytes, at));
  for (Row& row : rows) {
    row = take<Row>(bytes, at);
  }
  return rows;
}

void put_sequence(Bytes& bytes, Sequence const& sequence) {
  put_rows(bytes, sequence.rows);
  put_rows(bytes, sequence.window);
  put(bytes, sequence.state);
  put(bytes, sequence.first);
}

Sequence take_sequence(Bytes const& bytes, std::size_t& at) {
  Sequence sequence;
  sequence.rows = take_rows(bytes, at);
  sequence.window = take_rows(bytes, at);
  sequence.state = take<std::uint64_t>(bytes, at);
  sequence.first = take<std::uint32_t>(bytes, at);
  remake_keys(sequence);
  return sequence;
}

}  // namespace

void Engine::empty(Sequence& sequence) const {
  std::uint64_t const state = sequence.state;
  sequence = {};
  if (has(Bug::slot_keeps_state) && knobs_.depth == 4) {
    sequence.state = state;
  }
}

void Engine::purge(Sequence& sequence, std::uint32_t rows_to_come) const {
  std::size_t const kept = kWindow - 1 + (knobs_.whole != 0 ? knobs_.depth : 0);
  std::size_t const most = kept > rows_to_come ? kept - rows_to_come : 0;
  if (sequence.window.size() > most) {
    sequence.window.erase(sequence.window.begin(),
                          sequence.window.end() - static_cast<std::ptrdiff_t>(most));
  }
}

void Engine::append(Sequence& sequence, std::uint32_t token, bool begins_micro_batch) {
  if (begins_micro_batch && has(Bug::short_window) && knobs_.ubatch == 4 &&
      sequence.window.size() >= kWindow - 1) {
    purge(sequence, 1 + (knobs_.whole != 0 ? knobs_.depth : 0));
  }
  purge(sequence, 0);
  std::uint32_t const position =
      sequence.rows.empty() ? sequence.first : sequence.rows.back().position + 1;
  sequence.rows.push_back({position, token});
  sequence.window.push_back({position, token});
  sequence.past.push_back(sequence.state);
  if (sequence.past.size() > knobs_.depth) {
    sequence.past.erase(sequence.past.begin());
  }
  sequence.state = mix(sequence.state, token);
  if (sequence.rows.size() / kPool > sequence.keys.size()) {
    std::uint64_t key = 0;
    for (std::size_t i = sequence.keys.size() * kPool; i < (sequence.keys.size() + 1) * kPool;
         ++i) {
      key = mix(key, sequence.rows[i].token);
    }
    sequence.keys.push_back(key);
  }
}

void Engine::logits_of(Sequence const& sequence, Logits& logits) const {
  std::uint32_t const last = sequence.rows.back().position;
  std::uint64_t attention = 0;
  for (Row const& row : sequence.rows) {
    attention += mix(row.token, row.position);
  }
  std::uint64_t window = 0;
  for (Row const& row : sequence.window) {
    window += row.position + kWindow > last ? mix(row.position, row.token) : 0;
  }
  std::uint64_t keys = 0;
  for (std::uint64_t const key : sequence.keys) {
    keys = mix(keys, key);
  }
  std::uint64_t const all = mix(mix(attention, window), mix(sequence.state, keys));
  for (std::uint32_t i = 0; i < kVocabulary; ++i) {
    logits[i] = static_cast<float>(mix(all, i) >> 40U) * 0x1p-23F - 1;
  }
  if (has(Bug::not_a_number) && last == 24) {
    logits[3] = std::numeric_limits<float>::quiet_NaN();
  }
}

void Engine::before_batch(std::vector<BatchRow> const& batch) {
  for (LateCopy const& copy : late_) {
    std::vector<Row>& rows = sequences_[copy.to].rows;
    for (std::size_t i = 0; copy.loaded && i < std::min(rows.size(), copy.rows.size()); ++i) {
      rows[i].token = copy.rows[i].token;
    }
  }
  late_.clear();
  if (has(Bug::dry_run_purges) && knobs_.unified != 0 && batch.size() > knobs_.ubatch) {
    std::array<std::uint32_t, kSequences> coming{};
    for (BatchRow const& row : batch) {
      ++coming[row.sequence];
    }
    for (std::uint32_t s = 0; s < kSequences; ++s) {
      purge(sequences_[s], coming[s]);
    }
  }
  for (BatchRow const& row : batch) {
    auto const fork = forks_.find(row.sequence);
    if (has(Bug::fork_writes_snapshot) && fork != forks_.end() &&
        snapshots_.count(fork->second) != 0) {
      spoilt_[fork->second] = mix(snapshots_[fork->second].state, row.token);
    }
  }
}

Answer Engine::decode(std::vector<BatchRow> const& batch, std::vector<Logits>& logits) {
  std::size_t rows = batch.size();
  for (Sequence const& sequence : sequences_) {
    rows += sequence.rows.size();
  }
  if (rows > kContext || batch.size() > kBatch) {
    return Answer::kRefused;
  }
  before_batch(batch);
  std::uint32_t at = 0;
  for (BatchRow const& row : batch) {
    Sequence& sequence = sequences_[row.sequence];
    append(sequence, row.token, at++ % knobs_.ubatch == 0);
    sequence.twins = 0;
    if (row.wanted) {
      logits_of(sequence, logits.emplace_back());
    }
  }
  if (has(Bug::swapped_logits) && logits.size() >= 3) {
    std::swap(logits[0], logits[1]);
  }
  return Answer::kOk;
}

Answer Engine::draft(std::vector<BatchRow> const& batch,
                     std::uint32_t keep,
                     std::vector<Logits>& logits) {
  Sequence& sequence = sequences_[batch.front().sequence];
  Sequence before = sequence;
  if (decode(batch, logits) != Answer::kOk) {
    return Answer::kRefused;
  }
  std::uint64_t const last = sequence.state;
  if (keep == batch.size()) {
    return Answer::kOk;
  }
  for (std::uint32_t i = 0; i < keep + (has(Bug::one_draft_too_many) && keep == 0 ? 1 : 0); ++i) {
    append(before, batch[i].token, false);
  }
  sequence = before;
  if (has(Bug::state_of_last_draft)) {
    sequence.state = last;
  }
  return Answer::kOk;
}

Answer Engine::remove_end(std::uint32_t name, std::uint32_t count) {
  Sequence& sequence = sequences_[name];
  bool const no_state = count > sequence.past.size();
  if (no_state && !(has(Bug::no_such_state) && knobs_.depth == 4)) {
    if (has(Bug::half_refused)) {
      sequence.rows.resize(sequence.rows.size() - count);
    }
    return Answer::kRefused;
  }
  if (!no_state) {
    sequence.state = sequence.past[sequence.past.size() - count];
    sequence.past.resize(sequence.past.size() - count);
  }
  sequence.rows.resize(sequence.rows.size() - count);
  sequence.window.resize(sequence.window.size() -
                         std::min<std::size_t>(count, sequence.window.size()));
  if (!has(Bug::key_survives)) {
    sequence.keys.resize(std::min(sequence.keys.size(), sequence.rows.size() / kPool));
  }
  if (has(Bug::copy_shares_end) && knobs_.depth == 4) {
    for (std::uint32_t s = 0; s < kSequences; ++s) {
      Sequence& twin = sequences_[s];
      if (((sequence.twins >> s) & 1U) != 0 && twin.rows.size() > sequence.rows.size()) {
        twin.rows.resize(sequence.rows.size());
      }
    }
  }
  std::size_t const needed = std::min<std::size_t>(kWindow - 1, sequence.rows.size());
  return sequence.window.size() < needed ? Answer::kWeak : Answer::kOk;
}

Answer Engine::remove(std::uint32_t name, std::uint32_t first, std::uint32_t end) {
  Sequence& sequence = sequences_[name];
  auto const is_in = [&](Row const& row) { return row.position >= first && row.position < end; };
  auto const count = std::count_if(sequence.rows.begin(), sequence.rows.end(), is_in);
  if (count == 0) {
    return Answer::kOk;
  }
  if (static_cast<std::size_t>(count) == sequence.rows.size()) {
    if (has(Bug::whole_range_refused) && sequence.first != 0 && end != kNoBound) {
      return Answer::kRefused;
    }
    empty(sequence);
    return Answer::kOk;
  }
  if (!is_in(sequence.rows.back())) {
    return Answer::kRefused;
  }
  return remove_end(name, static_cast<std::uint32_t>(count));
}

Answer Engine::remove_every(std::uint32_t first, std::uint32_t end) {
  if (has(Bug::every_is_nobody)) {
    return Answer::kRefused;
  }
  std::array<Sequence, kSequences> const before = sequences_;
  Answer all = Answer::kOk;
  for (std::uint32_t s = 0; s < kSequences; ++s) {
    bool const to_end = sequences_[s].rows.empty() || sequences_[s].rows.back().position < end;
    Answer const one = remove(s, first, to_end ? kNoBound : end);
    if (one == Answer::kRefused) {
      sequences_ = before;
      return one;
    }
    all = one == Answer::kWeak ? one : all;
  }
  return all;
}

Answer Engine::copy(std::uint32_t from, std::uint32_t to) {
  if (from == to) {
    return Answer::kOk;
  }
  bool const was_live = !sequences_[to].rows.empty();
  sequences_[to] = sequences_[from];
  sequences_[to].twins = 1U << from;
  sequences_[from].twins |= 1U << to;
  if (has(Bug::copy_forgets_keys)) {
    sequences_[to].keys.clear();
    sequences_[to].keys.resize(sequences_[from].keys.size());
  }
  if (has(Bug::late_copy) && knobs_.unified == 0) {
    late_.push_back({to, sequences_[from].rows});
  }
  return has(Bug::idle_weak) && was_live ? Answer::kWeak : Answer::kOk;
}

Answer Engine::keep(std::uint32_t name) {
  for (std::uint32_t s = 0; s < kSequences; ++s) {
    if (s != name && !(has(Bug::keep_leaves_others) && knobs_.unified == 0)) {
      sequences_[s] = {};
    }
  }
  return Answer::kOk;
}

Answer Engine::shift(std::uint32_t name, std::int32_t by, std::uint32_t first, std::uint32_t end) {
  Sequence& sequence = sequences_[name];
  auto const count = std::count_if(sequence.rows.begin(), sequence.rows.end(), [&](Row const& row) {
    return row.position >= first && row.position < end;
  });
  if (count == 0) {
    return Answer::kOk;
  }
  if (static_cast<std::size_t>(count) != sequence.rows.size()) {
    return Answer::kRefused;
  }
  auto const move = [&](std::vector<Row>& rows) {
    for (Row& row : rows) {
      row.position += static_cast<std::uint32_t>(by);
    }
  };
  move(sequence.rows);
  if (!has(Bug::shift_forgets_window)) {
    move(sequence.window);
  }
  sequence.first += static_cast<std::uint32_t>(by);
  for (std::uint32_t s = 0; s < kSequences; ++s) {
    if (has(Bug::shift_moves_copy) && knobs_.unified != 0 && ((sequence.twins >> s) & 1U) != 0) {
      move(sequences_[s].rows);
    }
  }
  return Answer::kOk;
}

Answer Engine::clear() {
  for (Sequence& sequence : sequences_) {
    sequence = {};
  }
  return Answer::kOk;
}

std::uint32_t Engine::save(std::uint32_t sequence, Bytes& bytes) const {
  put_sequence(bytes, sequences_[sequence]);
  put(bytes, checksum(bytes, bytes.size()));
  std::size_t const window = sequences_[sequence].window.size() * sizeof(Row);
  return static_cast<std::uint32_t>(bytes.size() - (has(Bug::wrong_promise) ? window : 0));
}

std::uint32_t Engine::save_all(Bytes& bytes) const {
  for (Sequence const& sequence : sequences_) {
    put_sequence(bytes, sequence);
  }
  put(bytes, checksum(bytes, bytes.size()));
  return static_cast<std::uint32_t>(bytes.size());
}

Answer Engine::load(Bytes const& bytes, std::uint32_t name) {
  std::size_t at = 0;
  auto const count = take<std::uint32_t>(bytes, at);
  if (has(Bug::count_is_believed) && count > 0xffffU) {
    for (;;) {
      pause();
    }
  }
  if (has(Bug::unbounded_load) && count > 0xffffU) {
    std::vector<Row> const rows(std::size_t{count} * 0x1000U);
    sequences_[name].rows.assign(rows.begin(), rows.begin() + 1);
  }
  if (!is_whole(bytes)) {
    return Answer::kRefused;
  }
  at = 0;
  Sequence loaded = take_sequence(bytes, at);
  Sequence& sequence = sequences_[name];
  if (has(Bug::load_keeps_window) && !sequence.rows.empty()) {
    loaded.window.insert(loaded.window.begin(), sequence.window.begin(), sequence.window.end());
  }
  sequence = loaded;
  for (LateCopy& copy : late_) {
    copy.loaded = copy.loaded || copy.to == name;
  }
  return Answer::kOk;
}

Answer Engine::load_all(Bytes const& bytes) {
  if (!is_whole(bytes)) {
    return Answer::kRefused;
  }
  std::size_t at = 0;
  for (std::uint32_t s = 0; s < kSequences; ++s) {
    Sequence loaded = take_sequence(bytes, at);
    sequences_[s] = has(Bug::load_all_loses_last) && s + 1 == kSequences ? Sequence{} : loaded;
  }
  return Answer::kOk;
}

void Engine::save_part(std::uint32_t sequence, Bytes& bytes) const {
  put(bytes, static_cast<std::uint32_t>(sequences_[sequence].rows.size()));
  put(bytes, sequences_[sequence].state);
  put_rows(bytes, sequences_[sequence].window);
  put(bytes, checksum(bytes, bytes.size()));
}

Answer Engine::load_part(Bytes const& bytes, std::uint32_t name) {
  Sequence& sequence = sequences_[name];
  std::size_t at = 0;
  auto const count = take<std::uint32_t>(bytes, at);
  if (!is_whole(bytes) || count > sequence.rows.size()) {
    return Answer::kRefused;
  }
  auto const state = take<std::uint64_t>(bytes, at);
  if (count == 0) {
    sequence = {};
    return Answer::kOk;
  }
  sequence.rows.resize(count);
  sequence.keys.resize(count / kPool);
  sequence.past.clear();
  sequence.window = take_rows(bytes, at);
  sequence.state = has(Bug::part_is_stale) ? sequence.state : state;
  return Answer::kOk;
}

Answer Engine::snapshot(std::uint32_t sequence, std::uint32_t name) {
  snapshots_[name] = sequences_[sequence];
  snapshots_[name].past.clear();
  spoilt_.erase(name);
  return Answer::kOk;
}

Answer Engine::rollback(std::uint32_t sequence, std::uint32_t name) {
  auto const found = snapshots_.find(name);
  if (found == snapshots_.end()) {
    if (has(Bug::dies_of_dropped)) {
      std::abort();
    }
    return Answer::kRefused;
  }
  sequences_[sequence] = found->second;
  if (auto const spoilt = spoilt_.find(name); spoilt != spoilt_.end()) {
    sequences_[sequence].state = spoilt->second;
  }
  return Answer::kOk;
}

Answer Engine::fork(std::uint32_t name, std::uint32_t sequence) {
  auto const found = snapshots_.find(name);
  if (found == snapshots_.end() || !sequences_[sequence].rows.empty()) {
    return Answer::kRefused;
  }
  sequences_[sequence] = found->second;
  forks_[sequence] = name;
  return Answer::kOk;
}

Answer Engine::drop_snapshot(std::uint32_t name) {
  return snapshots_.erase(name) != 0 ? Answer::kOk : Answer::kRefused;
}

void Engine::cold(std::vector<BatchRow> const& batch,
                  std::uint32_t first,
                  std::vector<Logits>& logits) {
  Engine fresh{knobs_, Bug::kNone};
  fresh.sequences_[0].first = first;
  for (BatchRow const& row : batch) {
    fresh.append(fresh.sequences_[0], row.token, false);
    if (row.wanted) {
      fresh.logits_of(fresh.sequences_[0], logits.emplace_back());
    }
  }
}

}  // namespace toy
