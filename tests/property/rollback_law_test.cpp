// SPDX-License-Identifier: Apache-2.0
// Goal: the laws of the operations, stated without a model: what was taken back never happened.
// Method: random histories of appends and rounds (RapidCheck); two caches that by law must show the
// same bytes are read through the read-only window and compared whole.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "models/engine/holdfast_system.hpp"
#include "models/geometry/geometry.hpp"
#include "models/recorder/recorder.hpp"
#include "models/reference/model.hpp"

namespace holdfast::test {
namespace {

using model::Observation;
using model::SequenceName;
using model::SnapshotName;
using model::Token;

constexpr SequenceName kS0{0};
constexpr SequenceName kS1{1};
constexpr SnapshotName kH0{0};

/// One move of a history: an append of `rows`, or a round of `rows` of which `keep` stay.
struct Move {
  bool round = false;
  std::uint32_t rows = 1;
  std::uint32_t keep = 0;
  std::uint32_t piece = 0;
  bool view = false;
  bool in_place = false;
};
using Moves = std::vector<Move>;

void showValue(Move const& move, std::ostream& out) {  // NOLINT: RapidCheck's name
  out << (move.round ? "round " : "append ") << move.rows;
  if (move.round) {
    out << " keep " << move.keep;
  }
  out << " piece " << move.piece << (move.view ? " view" : "")
      << (move.in_place ? " in place" : "");
}

rc::Gen<Move> any_move() {
  return rc::gen::apply(
      [](bool round,
         std::uint32_t rows,
         std::uint32_t keep,
         std::uint32_t piece,
         bool view,
         bool in_place) {
        return Move{round, rows, std::min(keep, rows), piece, view, in_place};
      },
      rc::gen::arbitrary<bool>(),
      rc::gen::inRange<std::uint32_t>(1, 9),
      rc::gen::inRange<std::uint32_t>(0, 9),
      rc::gen::inRange<std::uint32_t>(0, 4),
      rc::gen::arbitrary<bool>(),
      rc::gen::arbitrary<bool>());
}

/// Few enough rows for three such blocks in a sequence of 64.
rc::Gen<Moves> any_moves() {
  return rc::gen::map(rc::gen::container<Moves>(any_move()), [](Moves moves) {
    std::uint32_t rows = 0;
    std::size_t count = 0;
    while (count < moves.size() && rows + moves[count].rows <= 20) {
      rows += moves[count++].rows;
    }
    moves.resize(count);
    return moves;
  });
}

/// A cache with an engine.
class Lab {
 public:
  explicit Lab(model::Geometry const& geometry)
      : shape_{model::make_model_shape(geometry.layout)},
        recorder_{make_host_device()},
        devices_(std::size_t{shape_.ranks} * shape_.stages, &recorder_),
        engine_{shape_, recorder_},
        system_{geometry.layout, devices_, engine_} {}

  model::HoldfastSystem& system() { return system_; }

  /// Tokens are `first`, `first` + 1, ... for every row, rejected ones too.
  void play(SequenceName name, Moves const& moves, Token first) {
    for (Move const& move : moves) {
      play(name, move, first);
      first += move.rows;
    }
  }
  void play(SequenceName name, Move const& move, Token first) {
    must(system_.begin(
        name,
        move.round,
        move.rows,
        move.rows,
        first,
        {.piece = move.piece,
         .view = move.view,
         .mode = move.in_place ? model::StateMode::kInPlace : model::StateMode::kFresh}));
    must(move.round ? system_.accept(name, move.keep) : system_.commit(name));
  }
  /// Appends tokens [first, first + rows) one by one.
  void play_serially(SequenceName name, std::uint32_t rows, Token first) {
    for (std::uint32_t i = 0; i < rows; ++i) {
      play(name, Move{.rows = 1}, first + i);
    }
  }
  static void must(Observation const& got) { RC_ASSERT(got.ok); }

  /// Everything that the sequence may see: lengths, rows, keys, the open pool's indexer rows,
  /// state.
  std::vector<float> visible(SequenceName name) {
    Inspection const look = system_.inspect();
    Holder const holder{HolderKind::kSequence, system_.id(name).index};
    std::vector<float> seen{static_cast<float>(look.sequence(holder.index).position)};
    for (std::uint32_t plane = 0; plane < look.plane_count(); ++plane) {
      PlaneInfo const info = look.plane(plane);
      PlaneState const state = look.state(holder, plane);
      if (info.kind == PlaneKind::kRecurrent) {
        continue;
      }
      seen.push_back(static_cast<float>(state.length));
      std::uint32_t const first =
          info.ring_rows == 0 ? 0 : state.length / pool_of(info) * pool_of(info);
      std::uint32_t const count = state.length - first;
      std::size_t const size = std::size_t{count} * info.row_elements;
      for (std::uint32_t i = 0; i < shape_.ranks * info.layers.size(); ++i) {
        std::size_t const at = seen.size();
        std::uint32_t const rank = i % shape_.ranks;
        seen.resize(at + size);
        RC_ASSERT(bool(look.read_rows(
            holder, plane, i / shape_.ranks, first, count, {seen.data() + at, size}, rank)));
      }
    }
    for (std::uint32_t rank = 0; rank < shape_.ranks && shape_.state_elements != 0; ++rank) {
      std::size_t const at = seen.size();
      std::size_t const size = shape_.state_elements / shape_.ranks;
      seen.resize(at + size);
      RC_ASSERT(bool(look.read_state(holder, {seen.data() + at, size}, rank)));
    }
    return seen;
  }

 private:
  std::uint32_t pool_of(PlaneInfo const& info) const {
    return shape_.planes[shape_.find(info.kind, info.layers.front())].pool;
  }

  model::ModelShape shape_;
  model::Recorder recorder_;
  std::vector<Device*> devices_;
  model::ToyEngine engine_;
  model::HoldfastSystem system_;
};

/// A fresh cache whose sequence s0 has played these blocks, each with its first token.
std::vector<float> visible_after(model::Geometry const& geometry,
                                 std::vector<std::pair<Moves, Token>> const& blocks) {
  Lab lab{geometry};
  Lab::must(lab.system().create(kS0));
  for (auto const& [moves, first] : blocks) {
    lab.play(kS0, moves, first);
  }
  return lab.visible(kS0);
}

constexpr Token kBase = 1;  // first tokens of the blocks
constexpr Token kLeft = 100;
constexpr Token kRight = 200;

class Law : public testing::TestWithParam<std::string> {
 protected:
  model::Geometry geometry_ = model::load_geometry(GetParam());
};

TEST_P(Law, RollbackThenRepeatIsNeverRolledBack) {
  EXPECT_TRUE(rc::check("rollback, then other moves", [&] {
    Moves const base = *any_moves();
    Moves const undone = *any_moves();
    Moves const done = *any_moves();
    Lab lab{geometry_};
    Lab::must(lab.system().create(kS0));
    lab.play(kS0, base, kBase);
    std::vector<float> const at_snapshot = lab.visible(kS0);
    Lab::must(lab.system().snapshot(kS0, kH0));
    for (std::uint32_t times = 0; times < 2; ++times) {  // a restore point is good more than once
      lab.play(kS0, undone, kLeft);
      Lab::must(lab.system().rollback(kS0, kH0));
      RC_ASSERT(lab.visible(kS0) == at_snapshot);
    }
    lab.play(kS0, done, kRight);
    RC_ASSERT(lab.visible(kS0) == visible_after(geometry_, {{base, kBase}, {done, kRight}}));
    Lab::must(lab.system().rollback(kS0, kH0));
    RC_ASSERT(lab.visible(kS0) == at_snapshot);
    RC_TAG(undone.empty() || done.empty() ? "trivial" : "both");
  }));
}

TEST_P(Law, RejectedDraftsWereNeverThere) {
  EXPECT_TRUE(rc::check("verify k, accept j, go on with other tokens", [&] {
    Moves const base = *any_moves();
    auto const rows = *rc::gen::inRange<std::uint32_t>(0, 9);
    auto const keep = *rc::gen::inRange<std::uint32_t>(0, rows + 1);
    Moves const after = *any_moves();
    Lab drafted{geometry_};
    Lab::must(drafted.system().create(kS0));
    drafted.play(kS0, base, kBase);
    drafted.play(kS0, Move{.round = true, .rows = rows, .keep = keep}, kLeft);
    Lab serial{geometry_};
    Lab::must(serial.system().create(kS0));
    serial.play(kS0, base, kBase);
    serial.play_serially(kS0, keep, kLeft);
    RC_ASSERT(drafted.visible(kS0) == serial.visible(kS0));
    drafted.play(kS0, after, kRight);
    serial.play(kS0, after, kRight);
    RC_ASSERT(drafted.visible(kS0) == serial.visible(kS0));
  }));
}

TEST_P(Law, ADroppedHandleWasNeverOpen) {
  EXPECT_TRUE(rc::check("begin, drop, go on", [&] {
    Moves const base = *any_moves();
    auto const rows = *rc::gen::inRange<std::uint32_t>(1, 30);
    auto const written = *rc::gen::inRange<std::uint32_t>(0, rows + 1);
    Moves const after = *any_moves();
    Lab lab{geometry_};
    Lab::must(lab.system().create(kS0));
    lab.play(kS0, base, kBase);
    std::vector<float> const before = lab.visible(kS0);
    Lab::must(lab.system().begin(kS0, false, rows, written, kLeft, {}));
    Lab::must(lab.system().drop(kS0));
    RC_ASSERT(lab.visible(kS0) == before);
    lab.play(kS0, after, kRight);
    RC_ASSERT(lab.visible(kS0) == visible_after(geometry_, {{base, kBase}, {after, kRight}}));
  }));
}

TEST_P(Law, ForksDoNotSeeEachOther) {
  EXPECT_TRUE(rc::check("two histories from one snapshot", [&] {
    Moves const base = *any_moves();
    Moves const left = *any_moves();
    Moves const right = *any_moves();
    auto const order = *rc::gen::container<std::vector<bool>>(left.size() + right.size(),
                                                              rc::gen::arbitrary<bool>());
    Lab lab{geometry_};
    Lab::must(lab.system().create(kS0));
    lab.play(kS0, base, kBase);
    Lab::must(lab.system().snapshot(kS0, kH0));
    Lab::must(lab.system().fork(kH0, kS1));
    std::size_t done_left = 0;
    std::size_t done_right = 0;
    Token left_token = kLeft;
    Token right_token = kRight;
    for (bool const wants_left : order) {
      if ((wants_left && done_left < left.size()) || done_right == right.size()) {
        lab.play(kS0, left[done_left], left_token);
        left_token += left[done_left++].rows;
      } else {
        lab.play(kS1, right[done_right], right_token);
        right_token += right[done_right++].rows;
      }
    }
    std::vector<float> const want_left = visible_after(geometry_, {{base, kBase}, {left, kLeft}});
    std::vector<float> const want_right =
        visible_after(geometry_, {{base, kBase}, {right, kRight}});
    RC_ASSERT(lab.visible(kS0) == want_left);
    RC_ASSERT(lab.visible(kS1) == want_right);
    Lab::must(lab.system().drop_snapshot(kH0));
    Lab::must(lab.system().release(kS0));
    RC_ASSERT(lab.visible(kS1) == want_right);
  }));
}

/// The tokens that moves leave behind.
std::vector<Token> committed(Moves const& moves, Token first) {
  std::vector<Token> tokens;
  for (Move const& move : moves) {
    for (std::uint32_t i = 0; i < (move.round ? move.keep : move.rows); ++i) {
      tokens.push_back(first + i);
    }
    first += move.rows;
  }
  return tokens;
}

TEST_P(Law, WhatIsTruncatedWasNeverThere) {
  EXPECT_TRUE(rc::check("truncate, go on, come back", [&] {
    Moves const base = *any_moves();
    Moves const more = *any_moves();
    Moves const after = *any_moves();
    Lab lab{geometry_};
    Lab::must(lab.system().create(kS0));
    lab.play(kS0, base, kBase);
    lab.play(kS0, more, kLeft);
    std::vector<Token> tokens = committed(base, kBase);
    std::vector<Token> const left = committed(more, kLeft);
    tokens.insert(tokens.end(), left.begin(), left.end());
    std::vector<float> const whole = lab.visible(kS0);
    Lab::must(lab.system().snapshot(kS0, kH0));

    auto const own = static_cast<std::uint32_t>(tokens.size());
    auto const length = *rc::gen::inRange<std::uint32_t>(0, own + 1);
    Observation const answer = lab.system().can_truncate(kS0, length);
    RC_ASSERT(lab.system().truncate(kS0, length) == answer);
    RC_TAG(answer.ok ? "truncated" : "refused");
    if (!answer.ok) {
      RC_ASSERT(answer.is(ErrorCode::kRefused));
      RC_ASSERT(lab.visible(kS0) == whole);
      return;
    }
    lab.play(kS0, after, kRight);
    Lab serial{geometry_};
    Lab::must(serial.system().create(kS0));
    for (std::uint32_t i = 0; i < length; ++i) {
      serial.play(kS0, Move{.rows = 1}, tokens[i]);
    }
    serial.play(kS0, after, kRight);
    RC_ASSERT(lab.visible(kS0) == serial.visible(kS0));
    Lab::must(lab.system().rollback(kS0, kH0));
    RC_ASSERT(lab.visible(kS0) == whole);
  }));
}

INSTANTIATE_TEST_SUITE_P(BuiltIn,
                         Law,
                         testing::ValuesIn(model::default_geometry_names()),
                         [](auto const& geometry) {
                           std::string text = geometry.param;
                           for (char const letter : {'-', '.'}) {
                             std::replace(text.begin(), text.end(), letter, '_');
                           }
                           return text;
                         });

}  // namespace
}  // namespace holdfast::test
