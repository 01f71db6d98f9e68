// SPDX-License-Identifier: Apache-2.0
// What every plane class must do, whatever its rule: one function a law, for a fixture F. Each ends with all
// holders whole; the lab audits the plane after every movement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/contract/fixtures.hpp"

// X(test, law): the laws, in the order in which they are run.
#define HOLDFAST_CONTRACT_LAWS(X)                                 \
  X(NeedIsWhatOpenTakes, need_is_what_open_takes)                 \
  X(OpenAndDropIsNothing, open_and_drop_is_nothing)               \
  X(LengthIsWhatWasKept, length_is_what_was_kept)                 \
  X(RollbackGivesWhatWasHeld, rollback_gives_what_was_held)       \
  X(ForkGivesWhatWasHeld, fork_gives_what_was_held)               \
  X(SecondRollbackIsTheFirst, second_rollback_is_the_first)       \
  X(TruncatedIsNeverAppended, truncated_is_never_appended)        \
  X(CanTruncateSaysWhatThereIs, can_truncate_says_what_there_is)  \
  X(CaptureOutlivesItsSnapshot, capture_outlives_its_snapshot)    \
  X(RestoreStartsBelowItsLength, restore_starts_below_its_length) \
  X(RefusedRestoreNamesTheNext, refused_restore_names_the_next)   \
  X(HeldBytesAreLeftAlone, held_bytes_are_left_alone)             \
  X(SerializedBytesComeBack, serialized_bytes_come_back)          \
  X(ShapeCountsBytesAndPages, shape_counts_bytes_and_pages)       \
  X(EverythingIsGivenBack, everything_is_given_back)              \
  X(WhatItCannotServeIsRefused, what_it_cannot_serve_is_refused)

namespace holdfast::test {

/// The laws of a plane class.
template <typename F>
struct Laws {
  using OneLab = Lab<F>;

  static constexpr std::uint32_t kRound = 4;  // the layouts' largest round
  static constexpr std::uint32_t kMost = 13;  // rows: more than two laps of the small ring
  static constexpr std::uint32_t kAnna = 1;   // a sequence
  static constexpr std::uint32_t kBert = 2;   // another
  static constexpr std::uint32_t kLengths[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, kMost};

  /// Kept rows of a round that the end can be told of: in place all or none.
  static bool can_keep(StateMode mode, std::uint32_t rows, std::uint32_t keep) {
    return mode != StateMode::kInPlace || keep == 0 || keep == rows;
  }
  /// Rescans are of rounds.
  static bool can_append(StateMode mode) { return mode != StateMode::kRescan; }

  static void need_is_what_open_takes() {
    for (StateMode const mode : F::kModes) {
      for (std::uint32_t const base : kLengths) {
        for (std::uint32_t rows = 1; rows <= kRound; ++rows) {
          for (bool const is_round : {false, true}) {
            OneLab lab;
            grow(lab, kAnna, base);
            for (std::uint32_t turn = 0; turn < 2 && (is_round || can_append(mode)); ++turn) {
              lab.open(kAnna, rows, is_round, mode);
              EXPECT_EQ(lab.taken, lab.needed) << rows << " rows at " << lab.length(kAnna);
              lab.write(kAnna);
              lab.close(kAnna, rows);
              lab.hold(kAnna, lab.snapshot(1 + turn));  // the next one meets what is shared
            }
            lab.expect_whole();
          }
        }
      }
    }
  }

  static void open_and_drop_is_nothing() {
    for (StateMode const mode : F::kModes) {
      for (std::uint32_t const base : kLengths) {
        for (std::uint32_t const rows : {1U, 3U, kRound, kMost}) {
          bool const is_round = rows <= kRound;
          OneLab lab;
          grow(lab, kAnna, base);
          std::uint32_t const before = lab.plane().available();
          lab.open(kAnna, rows, is_round, can_append(mode) || is_round ? mode : StateMode::kFresh);
          bool const is_exact = lab.plane().drop_is_exact(kAnna);
          lab.write(kAnna);
          lab.close(kAnna, 0);
          if (is_exact) {
            lab.expect_whole();
          }
          if (F::kDropGivesBack) {
            EXPECT_EQ(lab.plane().available(), before) << rows << " rows at " << base;
          }
        }
      }
    }
  }

  static void length_is_what_was_kept() {
    for (StateMode const mode : F::kModes) {
      for (std::uint32_t const base : kLengths) {
        for (std::uint32_t keep = 0; keep <= kRound; ++keep) {
          if (can_keep(mode, kRound, keep)) {
            OneLab lab;
            grow(lab, kAnna, base);
            lab.run(kAnna, kRound, keep, true, mode);
            lab.expect_whole();
            lab.append(kAnna, 2);
            lab.expect_whole();
          }
        }
      }
    }
  }

  static void rollback_gives_what_was_held() {
    for (std::uint32_t const base : kLengths) {
      for (std::uint32_t const more : {1U, 3U, kMost}) {
        OneLab lab;
        grow(lab, kAnna, base);
        lab.hold(kAnna, lab.snapshot(1));
        lab.append(kAnna, more);
        lab.rollback(kAnna, lab.snapshot(1));
        lab.expect_whole();
        lab.append(kAnna, 3);
        lab.expect_whole();
      }
    }
  }

  static void fork_gives_what_was_held() {
    for (std::uint32_t const base : kLengths) {
      OneLab lab;
      grow(lab, kAnna, base);
      lab.hold(kAnna, lab.snapshot(1));
      lab.append(kAnna, 2);
      lab.fork(lab.snapshot(1), kBert);
      lab.expect_whole();
      lab.append(kBert, 3);
      lab.append(kAnna, 1);
      lab.expect_whole();
    }
  }

  static void second_rollback_is_the_first() {
    for (std::uint32_t const base : kLengths) {
      OneLab lab;
      grow(lab, kAnna, base);
      lab.hold(kAnna, lab.snapshot(1));
      for (std::uint32_t turn = 0; turn < 3; ++turn) {
        lab.append(kAnna, 1 + turn);
        lab.rollback(kAnna, lab.snapshot(1));
        lab.expect_whole();
      }
    }
  }

  static void truncated_is_never_appended() {
    for (std::uint32_t const base : kLengths) {
      for (std::uint32_t length = 0; length < base; ++length) {
        OneLab lab;
        grow(lab, kAnna, base);
        if (lab.plane().can_truncate(kAnna, length)) {
          lab.truncate(kAnna, length);
          lab.expect_whole();
          OneLab never;
          grow(never, kAnna, length);
          if (F::kDropGivesBack) {
            EXPECT_EQ(lab.plane().available(), never.plane().available())
                << base << " to " << length;
          }
          lab.append(kAnna, 3);
          lab.expect_whole();
        }
      }
    }
  }

  static void can_truncate_says_what_there_is() {
    for (std::uint32_t const base : kLengths) {
      OneLab lab;
      grow(lab, kAnna, base);
      lab.run(kAnna, kRound, 1, true);  // rows that were written and rejected count
      PlaneState const before = lab.state(kAnna);
      for (std::uint32_t length = 0; length <= base; ++length) {
        Status const answer = lab.plane().can_truncate(kAnna, length);
        EXPECT_EQ(bool{answer}, F::can_be(lab, kAnna, length)) << base + 1 << " to " << length;
        EXPECT_TRUE(answer || HasCode(answer, ErrorCode::kRefused, name_of(F::kKind)));
        EXPECT_EQ(lab.state(kAnna), before) << "it was only asked";
      }
      lab.append(kAnna, 1);
      lab.expect_whole();
    }
  }

  static void capture_outlives_its_snapshot() {
    for (std::uint32_t const base : kLengths) {
      OneLab lab;
      grow(lab, kAnna, base);
      lab.hold(kAnna, lab.snapshot(1));
      lab.capture(lab.snapshot(1), lab.entry(0));
      lab.drop(lab.snapshot(1));
      lab.append(kAnna, 3);
      lab.release(kAnna);
      lab.expect_whole();
      lab.restore(lab.entry(0), kBert, base);
      lab.expect_whole();
    }
  }

  static void restore_starts_below_its_length() {
    for (std::uint32_t const base : kLengths) {
      for (std::uint32_t length = 0; length <= base; ++length) {
        OneLab lab;
        entry_of(lab, base);
        if (lab.plane().can_restore(lab.entry(0).index, length)) {
          lab.restore(lab.entry(0), kBert, length);
          lab.expect_whole();
          lab.append(kBert, 3);
          lab.append(kAnna, 2);
          lab.expect_whole();
        }
      }
    }
  }

  static void refused_restore_names_the_next() {
    for (std::uint32_t const base : kLengths) {
      OneLab lab;
      entry_of(lab, base);
      std::int64_t usable = 0;  // the longest one so far; nothing is usable at 0
      for (std::uint32_t length = 0; length <= base; ++length) {
        Status const answer = lab.plane().can_restore(lab.entry(0).index, length);
        if (answer) {
          usable = length;
        } else {
          EXPECT_TRUE(HasCode(answer, ErrorCode::kRefused, name_of(F::kKind)));
          EXPECT_EQ(answer.error().limit, usable) << length << " of " << base;
        }
      }
      EXPECT_EQ(usable, base) << "at its own length an entry is usable";
    }
  }

  static void held_bytes_are_left_alone() {
    for (StateMode const mode : F::kModes) {
      for (std::uint32_t const base : kLengths) {
        OneLab lab;
        grow(lab, kAnna, base);
        lab.hold(kAnna, lab.snapshot(1));
        auto const before = lab.serialize(lab.snapshot(1));
        auto const expect_same = [&] { EXPECT_EQ(lab.serialize(lab.snapshot(1)), before) << base; };
        lab.run(kAnna, 2, 2, false, can_append(mode) ? mode : StateMode::kFresh);
        expect_same();
        lab.rollback(kAnna, lab.snapshot(1));
        lab.run(kAnna, kRound, mode == StateMode::kInPlace ? kRound : 2, true, mode);
        expect_same();
        lab.run(kAnna, 3, 0, false, can_append(mode) ? mode : StateMode::kFresh);
        lab.append(kAnna, kMost);  // around the ring
        expect_same();
        lab.fork(lab.snapshot(1), kBert);
        lab.run(kBert, kRound, 0, true);
        lab.append(kBert, 5);
        expect_same();
        lab.rollback(kAnna, lab.snapshot(1));
        lab.append(kAnna, 2);
        if (lab.plane().can_truncate(kAnna, base / 2)) {
          lab.truncate(kAnna, base / 2);
          lab.append(kAnna, kRound);
        }
        expect_same();
        lab.expect_whole();
      }
    }
  }

  static void serialized_bytes_come_back() {
    for (std::uint32_t const base : kLengths) {
      OneLab lab;
      entry_of(lab, base);
      auto const bytes = lab.serialize(lab.entry(0));
      OneLab other;
      other.start(kAnna);
      other.append(kAnna, 5);
      other.deserialize(other.entry(1), bytes, lab.history(kAnna));
      EXPECT_EQ(other.serialize(other.entry(1)), bytes) << base;
      other.expect_whole();
      other.restore(other.entry(1), kBert, base);
      other.append(kBert, 3);
      other.expect_whole();
    }
  }

  static void shape_counts_bytes_and_pages() {
    for (std::uint32_t const base : kLengths) {
      OneLab lab;
      entry_of(lab, base);
      auto const shape = F::Plane::entry_shape(lab.known(), base);
      auto const bytes = lab.serialize(lab.entry(0));
      EXPECT_EQ(bytes.size(), shape.rows * shape.row_bytes) << base;
      std::uint32_t const before = lab.plane().available();
      lab.deserialize(lab.entry(1), bytes, lab.history(kAnna));
      EXPECT_EQ(before - lab.plane().available(), shape.pages) << base;
    }
  }

  static void everything_is_given_back() {
    for (std::uint32_t const base : kLengths) {
      OneLab lab;
      entry_of(lab, base);
      lab.hold(kAnna, lab.snapshot(1));
      lab.append(kAnna, 5);
      lab.hold(kAnna, lab.snapshot(2));
      lab.fork(lab.snapshot(1), kBert);
      lab.run(kBert, kRound, 2, true);
      lab.deserialize(lab.entry(1), lab.serialize(lab.entry(0)), lab.held(lab.entry(0)));
      lab.rollback(kAnna, lab.snapshot(1));
      lab.end_all();
      lab.expect_all_free();
    }
  }

  static void what_it_cannot_serve_is_refused() {
    LayerRules const rules{.layer = 3, .ranks = 1, .page_rows = 2, .largest_round = kRound};
    auto refused = F::refused();
    for (RowsDescription const& rows : refused) {
      Status const answer = F::Plane::check(rows, rules);
      EXPECT_TRUE(HasCode(answer, ErrorCode::kInvalidArgument, name_of(F::kKind)));
      EXPECT_TRUE(answer || answer.error().layer == 3);
    }
    // Rows and states are never both served.
    Status const state = F::Plane::check(StateDescription{.kind = F::kKind}, rules);
    EXPECT_EQ(bool{state}, F::Plane::is_slot());
    // What the layout has it serves.
    OneLab lab;
    EXPECT_EQ(lab.known().kind, F::kKind);
    EXPECT_GE(lab.plane().available(), 1U);
  }

 private:
  /// A sequence of so many rows: appended in two pieces, the second of which may lap a ring.
  static void grow(OneLab& lab, std::uint32_t sequence, std::uint32_t length) {
    lab.start(sequence);
    if (std::uint32_t const first = std::min(length, 3U); first != 0) {
      lab.append(sequence, first);
      if (length != first) {
        lab.append(sequence, length - first);
      }
    }
  }
  /// Entry 0 of a sequence that goes on.
  static void entry_of(OneLab& lab, std::uint32_t length) {
    grow(lab, kAnna, length);
    lab.hold(kAnna, lab.snapshot(3));
    lab.capture(lab.snapshot(3), lab.entry(0));
    lab.drop(lab.snapshot(3));
  }
};

}  // namespace holdfast::test
