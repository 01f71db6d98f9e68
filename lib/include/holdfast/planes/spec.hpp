// SPDX-License-Identifier: Apache-2.0
// The list of plane specs, and what every spec is made of: kinds, rules, formats, and the
// description of the planes that it makes. A new spec is its header, its line in the list, and its
// include at the end of this file.
//
// A spec is a struct of plain fields with
//   kName, kPlanes   its name, and name and rule of each plane kind that it makes
//   fields           visits every field by name, for readers and checks
//   check            the rules between its fields and the layout
//   describe         the planes that it makes in one layer
#pragma once

#include <array>
#include <cstdint>
#include <holdfast/result.hpp>
#include <holdfast/strips.hpp>
#include <vector>

// X(spec, the plane kinds that it makes...). Kinds are numbered in this order, and plane classes
// stand in it, so that a derived plane comes before the rows it is derived from.
#define HOLDFAST_PLANE_SPECS(X)        \
  X(AttentionKvSpec, kAttentionKv)     \
  X(LatentSpec, kLatent)               \
  X(IndexerSpec, kPoolKeys, kTailRing) \
  X(RecurrentSpec, kRecurrent)         \
  X(HeldSpec, kHeld)                   \
  X(DraftKvSpec, kDraftKv)             \
  X(DraftLatentSpec, kDraftLatent)

namespace holdfast {

/// The plane kinds.
enum class PlaneKind : std::uint8_t {
#define HOLDFAST_PLANE_KINDS(spec, ...) __VA_ARGS__,
  HOLDFAST_PLANE_SPECS(HOLDFAST_PLANE_KINDS)
#undef HOLDFAST_PLANE_KINDS
};

/// Name of a kind as it is written in messages and traces, e.g. "attention_kv".
[[nodiscard]] char const* name_of(PlaneKind kind) noexcept;

/// How a plane is stored, shortened and held. Every rule has one class that implements all
/// movements.
enum class PlaneRule : std::uint8_t {
  kPaged,  ///< rows in pages, addressed by position; any shorter length is one
  kRing,   ///< the last rows only; shorter only while the rows that it needs are resident
  kSlot,   ///< part of the one state slot of a sequence; never shorter
  kDraft,  ///< as kPaged, but its length may lag behind the sequence's
};

/// A plane kind that a spec makes.
struct PlaneTrait {
  PlaneKind kind = PlaneKind{};
  char const* name = "";
  PlaneRule rule = PlaneRule::kPaged;
};

/// Rule of a kind.
[[nodiscard]] PlaneRule rule_of(PlaneKind kind) noexcept;

/// Largest value of any size field of a layout; keeps every byte count inside 63 bits.
inline constexpr std::uint32_t kLargestSize = 1U << 24U;

/// One strip of the rows of a plane, all ranks together.
struct StripDescription {
  std::uint64_t elements = 0;  ///< of one row; 0 = no strip, nor any after it
  Format format = Format::kF32;
};

/// The strips of a row, those that there are first.
using StripDescriptions = std::array<StripDescription, kLargestStripCount>;
[[nodiscard]] constexpr StripDescriptions strips_of(StripDescription first,
                                                    StripDescription second = {}) noexcept {
  return {{first, second}};
}

/// A plane with rows, in one layer, all ranks together.
struct RowsDescription {
  PlaneKind kind = PlaneKind{};
  StripDescriptions strips{};
  std::uint32_t unit_tokens = 1;  ///< tokens that one row stands for
  std::uint32_t shape = 0;        ///< tells shapes of equal width apart; layers of one shape share
                                  ///< a plane class
  std::uint32_t window_rows =
      0;  ///< rows that the next token needs at most, its own counted, so that
          ///< only the last ones stay; 0: all
  std::uint32_t ring_rows = 0;  ///< R of a ring
  std::uint32_t pool = 0;       ///< of indexer planes
  std::uint32_t key_width = 0;  ///< of indexer planes, elements
  bool derived = false;  ///< pool keys: built by the library from the pooled rows of its layer
  bool pooled = false;   ///< pool keys are made of its rows
  bool split = false;    ///< each rank holds its share of every strip; else all of it

  [[nodiscard]] constexpr std::uint32_t strip_count() const noexcept {
    std::uint32_t count = 0;
    while (count < kLargestStripCount && strips[count].elements != 0) {
      ++count;
    }
    return count;
  }
  /// Elements of a row.
  [[nodiscard]] constexpr std::uint64_t elements() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < strip_count(); ++i) {
      sum += strips[i].elements;
    }
    return sum;
  }
  /// Whether a row is one strip of f32.
  [[nodiscard]] constexpr bool is_plain() const noexcept {
    return strip_count() == 1 && strips[0].format == Format::kF32;
  }
};

/// The part of the state slot that one layer owns, all ranks together. Ranks split channels and
/// heads.
struct StateDescription {
  PlaneKind kind = PlaneKind{};
  std::uint64_t channels = 0;  ///< of the conv window
  std::uint32_t window = 0;    ///< inputs that the conv window keeps
  std::uint32_t heads = 0;     ///< ssm [heads, d_k, d_v]
  std::uint32_t d_k = 0;
  std::uint32_t d_v = 0;
  std::uint32_t stash_row_bytes = 0;  ///< on each rank; given for every recurrent layer or for none
  std::uint32_t held = 0;             ///< elements of held side state
};

/// What a spec is checked against, and how it says no.
struct LayerRules {
  std::int32_t layer = -1;
  std::uint32_t ranks = 1;
  std::uint32_t page_rows = 0;
  std::uint32_t largest_round = 0;

  /// kInvalidArgument naming layer and field.
  [[nodiscard]] Error refuse(char const* field,
                             char const* text,
                             std::int64_t got = 0,
                             std::int64_t limit = 0) const noexcept {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .text = text,
                 .subject = field,
                 .layer = layer,
                 .got = got,
                 .limit = limit};
  }
  /// The field is neither 0 nor larger than any size may be.
  [[nodiscard]] Status size(char const* field, std::uint32_t value) const noexcept {
    if (value == 0) {
      return refuse(field, "must not be 0");
    }
    if (value > kLargestSize) {
      return refuse(field, "is larger than any size may be", value, kLargestSize);
    }
    return {};
  }
  /// The field holds whole blocks of a known format.
  [[nodiscard]] Status blocks(char const* field,
                              std::uint32_t value,
                              Format format) const noexcept {
    std::uint32_t const block = trait_of(format).block_elements;
    if (value % block != 0) {
      return refuse(
          field, "is not a multiple of the elements that its format stores together", value, block);
    }
    return {};
  }
  /// The field divides over the ranks.
  [[nodiscard]] Status divides(char const* field, std::uint32_t value) const noexcept {
    if (value % ranks != 0) {
      return refuse(field, "does not divide over the ranks", value, ranks);
    }
    return {};
  }
};

}  // namespace holdfast

// Here, because a spec is made of the types above.
#include <holdfast/planes/attention_kv.hpp>
#include <holdfast/planes/draft.hpp>
#include <holdfast/planes/held.hpp>
#include <holdfast/planes/indexer.hpp>
#include <holdfast/planes/latent.hpp>
#include <holdfast/planes/recurrent.hpp>
