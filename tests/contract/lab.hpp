// SPDX-License-Identifier: Apache-2.0
// One plane alone, on host memory: moves it as the cache does, knows what every holder must have, and says
// where a plane has something else.
//
// Every token that is appended has a tag of its own, which a fixture writes into all bytes of a row or state,
// so that a stale row, a row of another holder and half a row are all seen.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <holdfast/device.hpp>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "planes/plane.hpp"
#include "storage/plan.hpp"
#include "storage/step.hpp"
#include "tests/support/status.hpp"

namespace holdfast::test {

/// Fills the bytes of one token.
using Tag = std::uint16_t;
using Tags = std::vector<Tag>;

/// Holders by their index in the plane; entries have the indices after those of the snapshots.
struct Snap {
  std::uint32_t index = 0;
};

/// Takes bytes out of a plane, or puts them in.
class Bytes final : public internal::planes::PieceSink {
 public:
  Bytes() = default;
  explicit Bytes(std::vector<std::byte> source) : all{std::move(source)}, is_source_{true} {}
  void piece(std::byte* base, std::uint64_t bytes) noexcept override {
    if (is_source_) {
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at_), bytes, base);
    } else {
      all.insert(all.end(), base, base + bytes);
    }
    at_ += bytes;
  }

  std::vector<std::byte> all;

 private:
  std::uint64_t at_ = 0;
  bool is_source_ = false;
};

/// A plane of fixture F (see fixtures.hpp), its memory, and the histories of its holders. Sequences are 1 and
/// up, as in the cache.
template <typename F>
class Lab {
 public:
  using Plane = typename F::Plane;
  using Mode = internal::planes::StateMode;

  Lab() {
    Layout layout = F::layout();
    layout.capacity.entries = 4;
    EXPECT_TRUE(IsOk(make_plan(layout, plan_)));
    while (class_ < plan_.class_count && plan_.classes[class_].kind != F::kKind) {
      ++class_;
    }
    memory_.assign(known().pages * known().page_bytes, std::byte{0xEE});
    device_table_.resize(std::uint64_t{plan_.sequence_limit} * known().entries + 1);
    records_.resize(plan_.sequence_limit * plan_.mirror_bytes);
    auto const limits = step_limits(plan_);
    block_.resize(internal::storage::StepWork::block_bytes(limits) / sizeof(std::max_align_t) + 1);
    EXPECT_TRUE(step_.create(limits, 1));
    step_.attach(0,
                 *device_,
                 reinterpret_cast<std::byte*>(block_.data()),
                 {.records = records_.data(),
                  .tables = device_table_.data(),
                  .row_sequences = nullptr,
                  .record_bytes = plan_.mirror_bytes});
    step_.set_strips(0, class_, F::strips(known(), memory_.data()));
    EXPECT_TRUE(plane_.create(
        plan_, class_, {.pages = memory_.data(), .device_table = device_table_.data()}));
    free_at_first_ = plane_.available();
  }

  // What the cache does, on one plane.
  void start(std::uint32_t sequence) {
    std::uint32_t const before = plane_.available();
    std::uint32_t const need = plane_.need_to_start();
    begin(sequence);
    plane_.start(owner(sequence), step_);
    launch(sequence);
    EXPECT_EQ(before - plane_.available(), need);
    sequences_[sequence] = {};
    audit();
  }
  void open(std::uint32_t sequence,
            std::uint32_t rows,
            bool is_round = false,
            Mode mode = Mode::kFresh) {
    Sequence& known = sequences_[sequence];
    known.opening = {.base = length(sequence), .rows = rows, .round = is_round, .mode = mode};
    for (std::uint32_t row = 0; row < rows; ++row) {
      known.open.push_back(++last_tag_);
    }
    std::uint32_t const before = plane_.available();
    needed = plane_.need(owner(sequence), known.opening);
    begin(sequence);
    plane_.open(owner(sequence), known.opening, step_);
    launch(sequence);
    taken = before - plane_.available();
    audit();
  }
  /// The engine's kernels write all open rows.
  void write(std::uint32_t sequence) { F::write(*this, sequence); }
  void close(std::uint32_t sequence, std::uint32_t keep) {
    Sequence& known = sequences_[sequence];
    auto const range = plane_.open_range(sequence, known.opening);
    if (known.opening.mode == Mode::kRescan && keep != 0) {
      F::rescan(*this, sequence, keep);
    }
    begin(sequence);
    plane_.close(owner(sequence),
                 {.opening = known.opening,
                  .keep = keep,
                  .reached = known.opening.base + known.opening.rows,
                  .written = range.count},
                 step_);
    known.history.insert(known.history.end(), known.open.begin(), known.open.begin() + keep);
    known.open.clear();
    known.opening = {};
    launch(sequence);
    audit();
  }
  void run(std::uint32_t sequence,
           std::uint32_t rows,
           std::uint32_t keep,
           bool is_round,
           Mode mode = Mode::kFresh) {
    open(sequence, rows, is_round, mode);
    write(sequence);
    close(sequence, keep);
  }
  void append(std::uint32_t sequence, std::uint32_t rows) { run(sequence, rows, rows, false); }
  void truncate(std::uint32_t sequence, std::uint32_t length) {
    begin(sequence);
    plane_.truncate(owner(sequence), length, step_);
    sequences_[sequence].history.resize(length);
    launch(sequence);
    audit();
  }
  void hold(std::uint32_t sequence, Snap to) {
    plane_.hold(sequence, to.index);
    held_[to.index] = sequences_[sequence].history;
    audit();
  }
  void rollback(std::uint32_t sequence, Snap from) {
    load(sequence, from, internal::planes::LoadKind::kRollback);
  }
  void fork(Snap from, std::uint32_t sequence) {
    load(sequence, from, internal::planes::LoadKind::kFork);
  }
  void drop(Snap held) {
    plane_.drop(held.index);
    held_.erase(held.index);
    audit();
  }
  void release(std::uint32_t sequence) {
    plane_.release(owner(sequence));
    sequences_.erase(sequence);
    ++generation_;
    audit();
  }
  void capture(Snap from, Snap to) {
    plane_.capture(from.index, to.index);
    held_[to.index] = held_[from.index];
    audit();
  }
  void restore(Snap from, std::uint32_t sequence, std::uint32_t length) {
    begin(sequence);
    plane_.restore(from.index, owner(sequence), length, step_);
    Tags const& all = held_[from.index];
    sequences_[sequence] = {.history = {all.begin(), all.begin() + length}};
    launch(sequence);
    audit();
  }
  /// The bytes of what is held, layer after layer.
  std::vector<std::byte> serialize(Snap from) const {
    Bytes out;
    for (std::uint32_t layer = 0; layer < known().layer_count; ++layer) {
      plane_.serialize(from.index, layer, out);
    }
    return out.all;
  }
  /// An entry with the bytes of a holder of `history`.
  void deserialize(Snap to, std::vector<std::byte> bytes, Tags const& history) {
    plane_.deserialize(to.index, static_cast<std::uint32_t>(history.size()));
    Bytes source{std::move(bytes)};
    for (std::uint32_t layer = 0; layer < known().layer_count; ++layer) {
      plane_.serialize(to.index, layer, source);
    }
    held_[to.index] = history;
    audit();
  }
  void end_all() {
    while (!sequences_.empty()) {
      release(sequences_.begin()->first);
    }
    while (!held_.empty()) {
      drop({held_.begin()->first});
    }
  }

  // What must be so.
  /// Every holder has what its history says, as far as its length needs it.
  void expect_whole() const {
    for (auto const& [index, sequence] : sequences_) {
      expect_holder({HolderKind::kSequence, index}, sequence.history);
    }
    for (auto const& [index, history] : held_) {
      expect_holder({HolderKind::kSnapshot, index}, history);
    }
  }
  void expect_all_free() const { EXPECT_EQ(plane_.available(), free_at_first_); }
  void expect_tag(Tag want, std::span<std::byte const> bytes, std::uint32_t row) const {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      auto const byte = static_cast<std::byte>(i % 2 == 0 ? want & 0xFFU : want >> 8U);
      if (bytes[i] != byte) {
        ADD_FAILURE() << "byte " << i << " of row or state " << row << " is not that of token "
                      << want;
        return;
      }
    }
  }
  static void fill(Tag tag, std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(i % 2 == 0 ? tag & 0xFFU : tag >> 8U);
    }
  }

  internal::storage::ClassPlan const& known() const { return plan_.classes[class_]; }
  internal::storage::Plan const& plan() const { return plan_; }
  Plane const& plane() const { return plane_; }
  std::byte* page(std::uint32_t page) { return memory_.data() + page * known().page_bytes; }
  std::byte const* page(std::uint32_t page) const {
    return memory_.data() + page * known().page_bytes;
  }
  SequenceMirror const& record(std::uint32_t sequence) const {
    return *reinterpret_cast<SequenceMirror const*>(records_.data() +
                                                    sequence * plan_.mirror_bytes);
  }
  internal::planes::Opening const& opening(std::uint32_t sequence) {
    return sequences_[sequence].opening;
  }
  Tags const& open_tags(std::uint32_t sequence) { return sequences_[sequence].open; }
  Tags const& history(std::uint32_t sequence) { return sequences_[sequence].history; }
  Tags const& held(Snap holder) { return held_[holder.index]; }
  std::uint32_t length(std::uint32_t sequence) {
    return static_cast<std::uint32_t>(sequences_[sequence].history.size());
  }
  PlaneState state(std::uint32_t sequence) const {
    return plane_.state({HolderKind::kSequence, sequence});
  }
  Snap snapshot(std::uint32_t number) const { return {number}; }
  Snap entry(std::uint32_t number) const { return {plan_.first_entry + number}; }

  std::uint32_t needed = 0;  ///< of the last open
  std::uint32_t taken = 0;   ///< by the last open

 private:
  struct Sequence {
    Tags history;  // of committed tokens
    Tags open;
    internal::planes::Opening opening{};
  };

  internal::storage::Owner owner(std::uint32_t sequence) const {
    return {.index = sequence, .mark = (generation_ << 32U) | sequence};
  }
  void begin(std::uint32_t sequence) {
    EXPECT_TRUE(IsOk(step_.begin()));
    step_.open_mirror();
    step_.mirror().sequence = sequence;
  }
  void launch(std::uint32_t sequence) {
    plane_.publish(sequence, step_.mirror());
    EXPECT_TRUE(IsOk(step_.launch({})));
  }
  void load(std::uint32_t sequence, Snap from, internal::planes::LoadKind kind) {
    begin(sequence);
    plane_.load(from.index, owner(sequence), kind, step_);
    sequences_[sequence] = {.history = held_[from.index]};
    launch(sequence);
    audit();
  }
  /// Its own bookkeeping agrees with itself, and the device's tables with the host's.
  void audit() const {
    EXPECT_TRUE(plane_.audit());
    for (auto const& [index, sequence] : sequences_) {
      for (std::uint32_t at = 0; at < known().entries; ++at) {
        std::uint32_t const page = plane_.page_at({HolderKind::kSequence, index}, at);
        if (page != 0) {
          EXPECT_EQ(plane_.device_table(index)[at], page) << "table index " << at;
        }
      }
    }
  }
  void expect_holder(Holder holder, Tags const& history) const {
    auto const length = static_cast<std::uint32_t>(history.size());
    EXPECT_EQ(plane_.state(holder).length, length / F::unit_tokens(known())) << "reported length";
    F::expect(*this, holder, history);
  }

  internal::storage::Plan plan_;
  std::uint32_t class_ = 0;
  std::vector<std::byte> memory_;
  std::vector<std::uint32_t> device_table_;
  std::vector<std::byte> records_;
  std::vector<std::max_align_t> block_;
  std::unique_ptr<Device> device_ = make_host_device();
  Plane plane_;
  internal::storage::StepWork step_;
  std::map<std::uint32_t, Sequence> sequences_;
  std::map<std::uint32_t, Tags> held_;
  std::uint64_t generation_ = 1;
  std::uint32_t free_at_first_ = 0;
  Tag last_tag_ = 0;
};

}  // namespace holdfast::test
