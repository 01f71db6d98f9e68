// SPDX-License-Identifier: Apache-2.0
// What the laws are tried on: caches with an engine, the moves that they make, and all that a holder
// may see of them.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "models/engine/holdfast_system.hpp"
#include "models/geometry/geometry.hpp"
#include "models/ops/op_list.hpp"
#include "models/recorder/recorder.hpp"
#include "models/reference/model.hpp"

namespace holdfast::test {

using model::Observation;
using model::SequenceName;
using model::SnapshotName;
using model::StateMode;
using model::Token;

/// A round kind that the laws must hold for.
struct RoundKindName {
  StateMode mode;
  char const* name;
};

/// All of them: a new kind is one line here.
inline constexpr RoundKindName kRoundKinds[] = {
    {StateMode::kFresh, "columns"},
    {StateMode::kInPlace, "in place"},
    {StateMode::kRescan, "rescan"},
};

/// Whether caches of this geometry have rounds of this kind.
bool has_kind(model::Geometry const& geometry, StateMode kind);

/// What a law is tried on.
struct Setting {
  model::Geometry geometry;
  StateMode kind = StateMode::kFresh;  // of all rounds
};

/// One move of a history: an append of `rows`, or a round of `rows` of which `keep` stay. An append
/// that keeps 0 is dropped.
struct Move {
  bool round = false;
  std::uint32_t rows = 1;
  std::uint32_t keep = 1;
  std::uint32_t piece = 0;
  bool view = false;
  StateMode mode = StateMode::kFresh;
};
using Moves = std::vector<Move>;

void showValue(Move const& move, std::ostream& out);  // NOLINT: RapidCheck's name

/// Most rows of the moves that any_moves() gives: three such blocks fit in every geometry.
inline constexpr std::uint32_t kBlockRows = 20;

rc::Gen<std::uint32_t> any_piece();
rc::Gen<StateMode> any_append_mode();
/// A round of 0 to 8 rows; `keep` is any of them.
rc::Gen<Move> any_round(StateMode kind);
rc::Gen<Move> any_move(StateMode kind);
rc::Gen<Moves> any_moves(StateMode kind, std::uint32_t most_rows = kBlockRows);
/// Moves that keep all of their rows.
rc::Gen<Moves> any_whole_moves(StateMode kind, std::uint32_t most_rows);

/// Rows that moves write, kept or not.
std::uint32_t rows_of(Moves const& moves);
/// The tokens that moves leave behind; rows have the tokens `first`, `first` + 1, ..., rejected ones
/// too.
std::vector<Token> committed(Moves const& moves, Token first);

// First tokens of the blocks of a law.
inline constexpr Token kBase = 1;
inline constexpr Token kLeft = 1001;
inline constexpr Token kRight = 2001;
inline constexpr Token kAfter = 3001;

inline constexpr SequenceName kS0{0};
inline constexpr SequenceName kS1{1};
inline constexpr SnapshotName kH0{0};
inline constexpr SnapshotName kH1{1};

/// All that one holder shows: the bits of every value, and what they are.
struct Visible {
  struct Part {
    char const* what;
    std::uint32_t layer;
    std::size_t at;  // of its first value
  };
  std::vector<std::uint32_t> bits;
  std::vector<Part> parts;

  void begin(char const* what, std::uint32_t layer) { parts.push_back({what, layer, bits.size()}); }
};

/// Where two pictures differ first; "" when they do not.
std::string difference(Visible const& got, Visible const& want);
/// Fails the case when they differ.
void must_equal(Visible const& got, Visible const& want, char const* when);

/// A cache with an engine.
class Lab {
 public:
  explicit Lab(Layout const& layout);
  /// With rows and states as `shape` groups them.
  Lab(Layout const& layout, model::ModelShape shape);
  Lab(Lab const&) = delete;
  Lab& operator=(Lab const&) = delete;
  ~Lab() = default;

  [[nodiscard]] model::HoldfastSystem& system() noexcept { return system_; }
  [[nodiscard]] model::ModelShape const& shape() const noexcept { return shape_; }

  /// Makes moves; their rows have the tokens `first`, `first` + 1, ..., rejected ones too.
  void play(SequenceName name, Moves const& moves, Token first);
  void play(SequenceName name, Move const& move, Token first);
  /// Appends these tokens one by one.
  void play_serially(SequenceName name, std::vector<Token> const& tokens);

  /// Everything that the holder may see: lengths, rows, keys, the open pool's indexer rows, states.
  /// Shards of ranks are put together; what all ranks hold must be the same on each.
  Visible visible(SequenceName name);
  Visible visible(SnapshotName name);
  [[nodiscard]] std::uint32_t position(SequenceName name) const;

 private:
  /// Where the library keeps a plane of a layer.
  struct Place {
    std::uint32_t plane = 0;
    std::uint32_t layer_index = 0;
    std::uint32_t row_elements = 0;
    bool is_ring = false;
  };
  [[nodiscard]] Place place_of(PlaneKind kind, std::uint32_t layer) const;
  [[nodiscard]] Visible visible(Holder holder, std::uint32_t position);
  void read_rows(Holder holder, std::uint32_t plane, Visible& seen);
  void read_states(Holder holder, Visible& seen);
  void put_rows(model::PlaneShape const& plane, std::uint32_t rank, std::uint32_t count);

  model::ModelShape shape_;
  model::Recorder recorder_;
  std::vector<Device*> devices_;
  model::ToyEngine engine_;
  model::HoldfastSystem system_;
  std::vector<Place> places_;        // by plane of the shape
  std::vector<Place> state_places_;  // by state
  std::vector<float> shard_;
  std::vector<float> whole_;
};

/// The operation must have worked. A case for which the geometry lacks storage is no case.
void must(Observation const& got);

/// A fresh cache whose sequence s0 has played these blocks, each with its first token.
Visible visible_after(model::Geometry const& geometry,
                      std::vector<std::pair<Moves, Token>> const& blocks);

/// A lab and a model that knows its tokens: operations of the harness, one after the other.
class Script {
 public:
  explicit Script(Lab& lab);

  /// Runs it on the lab, and tells the model.
  Observation run(model::AnyOp const& op);
  /// As Lab::play.
  void play(SequenceName name, Moves const& moves, Token first);
  [[nodiscard]] model::Model const& model() const noexcept { return model_; }

 private:
  Lab& lab_;
  model::Model model_;
};

}  // namespace holdfast::test
