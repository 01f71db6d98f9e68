// SPDX-License-Identifier: Apache-2.0
// Moves, and the pictures that are taken of a cache.
#include "tests/property/lab.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <ostream>

namespace holdfast::test {
namespace {

constexpr std::uint32_t kMostMoves = 6;  // of one block
constexpr std::uint32_t kMostRoundRows = 8;

rc::Gen<Move> any_append() {
  return rc::gen::apply(
      [](std::uint32_t rows, std::uint32_t drop, std::uint32_t piece, bool view, StateMode mode)
          -> Move {
        if (drop == 1) {  // fresh, as a drop in place may lose the state
          return {.rows = rows, .keep = 0, .piece = piece, .view = view};
        }
        return {.rows = rows, .keep = rows, .piece = piece, .view = view, .mode = mode};
      },
      rc::gen::weightedOneOf<std::uint32_t>({{3, rc::gen::inRange<std::uint32_t>(1, 9)},
                                             {1, rc::gen::inRange<std::uint32_t>(9, 20)}}),
      rc::gen::resize(100, rc::gen::inRange<std::uint32_t>(0, 9)),
      any_piece(),
      rc::gen::arbitrary<bool>(),
      any_append_mode());
}

/// Those that fit, in their order.
Moves fitting(Moves const& moves, std::uint32_t most_rows) {
  Moves kept;
  std::uint32_t rows = 0;
  for (Move const& move : moves) {
    if (rows + move.rows <= most_rows) {
      rows += move.rows;
      kept.push_back(move);
    }
  }
  return kept;
}

rc::Gen<Moves> some(rc::Gen<Move> const& move, std::uint32_t most_moves) {
  return rc::gen::mapcat(
      rc::gen::inRange<std::uint32_t>(0, most_moves + 1),
      [=](std::uint32_t count) { return rc::gen::container<Moves>(count, move); });
}

}  // namespace

void showValue(Move const& move, std::ostream& out) {  // NOLINT: RapidCheck's name
  out << (move.round ? "round " : "append ") << move.rows;
  if (move.round || move.keep == 0) {
    out << " keep " << move.keep;
  }
  out << " piece " << move.piece << (move.view ? " view" : "")
      << (move.mode == StateMode::kInPlace  ? " in place"
          : move.mode == StateMode::kRescan ? " rescan"
                                            : "");
}

bool has_kind(model::Geometry const& geometry, StateMode kind) {
  return kind != StateMode::kRescan || model::make_model_shape(geometry.layout).can_rescan();
}

rc::Gen<std::uint32_t> any_piece() {
  return rc::gen::resize(100, rc::gen::inRange<std::uint32_t>(0, 6));
}

rc::Gen<StateMode> any_append_mode() {
  return rc::gen::element(StateMode::kFresh, StateMode::kInPlace);
}

rc::Gen<Move> any_round(StateMode kind) {
  return rc::gen::apply(
      [=](std::uint32_t rows, std::uint32_t keep, std::uint32_t piece, bool view) -> Move {
        return {.round = true,
                .rows = rows,
                .keep = std::min(keep, rows),
                .piece = piece,
                .view = view,
                .mode = kind};
      },
      rc::gen::inRange<std::uint32_t>(0, kMostRoundRows + 1),
      rc::gen::inRange<std::uint32_t>(0, kMostRoundRows + 1),
      any_piece(),
      rc::gen::arbitrary<bool>());
}

rc::Gen<Move> any_move(StateMode kind) {
  return rc::gen::oneOf(any_append(), any_round(kind));
}

rc::Gen<Moves> any_moves(StateMode kind, std::uint32_t most_rows) {
  return rc::gen::map(some(any_move(kind), kMostMoves),
                      [=](Moves const& moves) { return fitting(moves, most_rows); });
}

rc::Gen<Moves> any_whole_moves(StateMode kind, std::uint32_t most_rows) {
  return rc::gen::map(some(any_move(kind), 3 * kMostMoves), [=](Moves moves) {
    for (Move& move : moves) {
      move.keep = move.rows;
    }
    return fitting(moves, most_rows);
  });
}

std::uint32_t rows_of(Moves const& moves) {
  std::uint32_t rows = 0;
  for (Move const& move : moves) {
    rows += move.rows;
  }
  return rows;
}

std::vector<Token> committed(Moves const& moves, Token first) {
  std::vector<Token> tokens;
  for (Move const& move : moves) {
    for (std::uint32_t i = 0; i < move.keep; ++i) {
      tokens.push_back(first + i);
    }
    first += move.rows;
  }
  return tokens;
}

std::string difference(Visible const& got, Visible const& want) {
  for (std::size_t i = 0; i < std::min(got.parts.size(), want.parts.size()); ++i) {
    auto const span_of = [i](Visible const& seen) {
      auto const end = i + 1 < seen.parts.size() ? seen.parts[i + 1].at : seen.bits.size();
      return std::span{seen.bits}.subspan(seen.parts[i].at, end - seen.parts[i].at);
    };
    auto const mine = span_of(got);
    auto const other = span_of(want);
    auto const [at, there] = std::mismatch(mine.begin(), mine.end(), other.begin(), other.end());
    if (at != mine.end() || there != other.end()) {
      return std::string{want.parts[i].what} + " of layer " + std::to_string(want.parts[i].layer) +
             ", value " + std::to_string(at - mine.begin()) + " of " + std::to_string(mine.size()) +
             " (wanted " + std::to_string(other.size()) + ")";
    }
  }
  return got.parts.size() == want.parts.size() ? "" : "the number of planes";
}

void must_equal(Visible const& got, Visible const& want, char const* when) {
  if (std::string const where = difference(got, want); !where.empty()) {
    RC_FAIL(std::string{when} + ": " + where + " differs");
  }
}

void must(Observation const& got) {
  if (got.is(ErrorCode::kExhausted)) {
    RC_DISCARD("the geometry lacks storage");
  }
  RC_ASSERT(got.ok);
}

Lab::Lab(Layout const& layout) : Lab{layout, model::make_model_shape(layout)} {}

Lab::Lab(Layout const& layout, model::ModelShape shape)
    : shape_{std::move(shape)},
      recorder_{make_host_device()},
      devices_(std::size_t{layout.ranks} * layout.stages, &recorder_),
      engine_{shape_, recorder_, devices_},
      system_{layout, devices_, engine_} {
  for (model::PlaneShape const& plane : shape_.planes) {
    places_.push_back(place_of(plane.kind, plane.layer));
  }
  for (model::StateShape const& state : shape_.states) {
    state_places_.push_back(place_of(state.kind, state.layer));
  }
}

Lab::Place Lab::place_of(PlaneKind kind, std::uint32_t layer) const {
  Inspection const look = system_.inspect();
  for (std::uint32_t plane = 0; plane < look.plane_count(); ++plane) {
    PlaneInfo const info = look.plane(plane);
    auto const found = std::find(info.layers.begin(), info.layers.end(), layer);
    bool const is_slot = info.page_rows == 0 && rule_of(kind) == PlaneRule::kSlot;
    if ((info.kind == kind || is_slot) && found != info.layers.end()) {
      return {plane,
              static_cast<std::uint32_t>(found - info.layers.begin()),
              info.row_elements,
              info.ring_rows != 0};
    }
  }
  throw model::InputError("the cache has no plane for layer " + std::to_string(layer));
}

void Lab::play(SequenceName name, Moves const& moves, Token first) {
  for (Move const& move : moves) {
    play(name, move, first);
    first += move.rows;
  }
}

void Lab::play(SequenceName name, Move const& move, Token first) {
  must(system_.begin(name,
                     move.round,
                     move.rows,
                     move.rows,
                     first,
                     {.piece = move.piece, .view = move.view, .mode = move.mode}));
  if (move.round) {
    must(system_.accept(name, move.keep));
  } else {
    must(move.keep == 0 ? system_.drop(name, model::HandleEnd::kCalled) : system_.commit(name));
  }
}

void Lab::play_serially(SequenceName name, std::vector<Token> const& tokens) {
  for (Token const token : tokens) {
    play(name, Move{}, token);
  }
}

std::uint32_t Lab::position(SequenceName name) const {
  return system_.inspect().sequence(system_.id(name).index).position;
}

Visible Lab::visible(SequenceName name) {
  return visible({HolderKind::kSequence, system_.id(name).index}, position(name));
}

Visible Lab::visible(SnapshotName name) {
  std::uint32_t const index = system_.id(name).index;
  return visible({HolderKind::kSnapshot, index}, system_.inspect().snapshot(index).position);
}

Visible Lab::visible(Holder holder, std::uint32_t position) {
  Visible seen;
  seen.begin("position", 0);
  seen.bits.push_back(position);
  for (std::uint32_t plane = 0; plane < shape_.planes.size(); ++plane) {
    read_rows(holder, plane, seen);
  }
  if (shape_.state_elements != 0) {
    read_states(holder, seen);
  }
  return seen;
}

/// Puts what a rank holds of rows, in shard_, where it belongs in whole_.
void Lab::put_rows(model::PlaneShape const& plane, std::uint32_t rank, std::uint32_t count) {
  std::uint32_t const width = plane.strip_elements();
  std::uint32_t const share = width / shape_.ranks;
  float const* from = shard_.data();
  for (std::uint32_t strip = 0; strip < count * plane.strips; ++strip, from += share) {
    std::copy_n(from, share, whole_.data() + std::size_t{strip} * width + rank * share);
  }
}

void Lab::read_rows(Holder holder, std::uint32_t index, Visible& seen) {
  model::PlaneShape const& plane = shape_.planes[index];
  Place const& place = places_[index];
  Inspection const look = system_.inspect();
  std::uint32_t const length = look.state(holder, place.plane).length;
  std::uint32_t const first = place.is_ring ? length / plane.pool * plane.pool : 0;
  std::uint32_t const count = length - first;
  seen.begin(look.plane(place.plane).name, plane.layer);
  seen.bits.push_back(length);
  whole_.assign(std::size_t{count} * plane.elements, 0.0F);
  shard_.resize(std::size_t{count} * place.row_elements);
  for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
    RC_ASSERT(
        bool(look.read_rows(holder, place.plane, place.layer_index, first, count, shard_, rank)));
    if (plane.split) {
      put_rows(plane, rank, count);
    } else if (rank == 0) {
      whole_ = shard_;
    } else {
      RC_ASSERT(shard_ == whole_);
    }
  }
  for (float const value : whole_) {
    seen.bits.push_back(std::bit_cast<std::uint32_t>(value));
  }
}

void Lab::read_states(Holder holder, Visible& seen) {
  Inspection const look = system_.inspect();
  whole_.assign(shape_.state_elements, 0.0F);
  shard_.resize(shape_.shard_state_elements);
  for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
    RC_ASSERT(bool(look.read_state(holder, shard_, rank)));
    for (std::uint32_t i = 0; i < shape_.states.size(); ++i) {
      std::uint32_t const offset = shape_.state_offsets[i];
      model::put_shard(shape_.states[i],
                       shard_.data() + shape_.shard_offsets[i],
                       shape_.ranks,
                       rank,
                       whole_.data() + offset);
    }
  }
  // By layer, whatever their order in the slots, which is another on several stages.
  std::vector<std::uint32_t> order(shape_.states.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return shape_.states[a].layer < shape_.states[b].layer;
  });
  for (std::uint32_t const i : order) {
    seen.begin("state", shape_.states[i].layer);
    seen.bits.push_back(look.state(holder, state_places_[i].plane).length);
    auto const own =
        std::span{whole_}.subspan(shape_.state_offsets[i], shape_.states[i].elements());
    for (float const value : own) {
      seen.bits.push_back(std::bit_cast<std::uint32_t>(value));
    }
  }
}

Visible visible_after(model::Geometry const& geometry,
                      std::vector<std::pair<Moves, Token>> const& blocks) {
  Lab lab{geometry.layout};
  must(lab.system().create(kS0));
  for (auto const& [moves, first] : blocks) {
    lab.play(kS0, moves, first);
  }
  return lab.visible(kS0);
}

Script::Script(Lab& lab) : lab_{lab}, model_{lab.shape()} {
  lab_.system().read_prompts_of(model_);
}

Observation Script::run(model::AnyOp const& op) {
  return std::visit(
      [this](auto const& known) {
        Observation const got = known.run(lab_.system());
        static_cast<void>(known.apply(model_, got));
        return got;
      },
      op);
}

void Script::play(SequenceName name, Moves const& moves, Token first) {
  for (Move const& move : moves) {
    std::uint32_t const view = move.view ? 1 : 0;
    if (move.round) {
      must(run(model::VerifyOp{name, move.rows, move.rows, first, move.piece, view, move.mode}));
      must(run(model::AcceptOp{name, move.keep}));
    } else {
      must(run(model::BeginOp{name, move.rows, move.rows, first, move.piece, view, move.mode}));
      must(move.keep == 0 ? run(model::DropOp{name}) : run(model::CommitOp{name}));
    }
    first += move.rows;
  }
}

}  // namespace holdfast::test
