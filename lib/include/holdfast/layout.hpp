// SPDX-License-Identifier: Apache-2.0
// The layout of a model's inference state: which planes each layer owns, their shapes, and the
// capacities.
//
// A layout is plain data, validated whole by `validate` (and by Cache::create); each refusal names
// the layer and the field.
#pragma once

#include <cstdint>
#include <holdfast/planes/spec.hpp>
#include <holdfast/result.hpp>
#include <iterator>
#include <variant>
#include <vector>

namespace holdfast {

namespace detail {
template <typename First, typename... Rest>
using VariantOfRest = std::variant<Rest...>;
}  // namespace detail

/// What a layer may own: one alternative a plane spec, in the order of the list.
#define HOLDFAST_PLANE_SPEC(spec, ...) , spec
using PlaneSpec = detail::VariantOfRest<void HOLDFAST_PLANE_SPECS(HOLDFAST_PLANE_SPEC)>;
#undef HOLDFAST_PLANE_SPEC

/// Number of plane kinds.
#define HOLDFAST_PLANE_KIND_COUNT(spec, ...) +std::size(spec::kPlanes)
inline constexpr std::uint32_t kPlaneKindCount = 0 HOLDFAST_PLANE_SPECS(HOLDFAST_PLANE_KIND_COUNT);
#undef HOLDFAST_PLANE_KIND_COUNT

/// One model layer; it may own several planes, or none (an MLP).
struct Layer {
  std::vector<PlaneSpec> planes;
  std::uint32_t stage = 0;  ///< pipeline stage that owns it; never lower than the layer's before
};

/// How much a cache can hold. A zero stands for the worst case of the others, so that it never runs
/// out.
struct Capacity {
  std::uint32_t sequences = 1;      ///< sequences alive at once
  std::uint32_t tokens = 0;         ///< most rows of one sequence
  std::uint32_t largest_round = 0;  ///< most provisional rows of a verify
  std::uint32_t snapshots = 0;      ///< snapshots alive at once
  std::uint32_t entries = 0;        ///< prefix entries alive at once; 0 = none
  std::uint32_t step_rows =
      0;                    ///< most rows of one step; 0 = one full sequence and a round of each
  std::uint32_t slots = 0;  ///< state slots, the reserved one not counted; 0 = worst case
  std::uint32_t pages =
      0;  ///< pages of each addressed class, the reserved one not counted; 0 = worst case
  std::uint32_t ring_pages =
      0;  ///< pages of each ring class, the reserved one not counted; 0 = worst case

  /// Visits the fields, as those of a plane spec: `size` where 0 is refused, `optional` where it stands
  /// for something.
  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit.size("capacity.sequences", self.sequences);
    visit.size("capacity.tokens", self.tokens);
    visit.optional("capacity.largest_round", self.largest_round);
    visit.optional("capacity.snapshots", self.snapshots);
    visit.optional("capacity.entries", self.entries);
    visit.optional("capacity.step_rows", self.step_rows);
    visit.optional("capacity.slots", self.slots);
    visit.optional("capacity.pages", self.pages);
    visit.optional("capacity.ring_pages", self.ring_pages);
  }
};

/// The whole layout of one cache. It needs a plane that is not a draft's, since a draft's may lag behind:
/// nothing would say which rows are there.
struct Layout {
  std::vector<Layer> layers;
  Capacity capacity;
  std::uint32_t page_rows = 64;    ///< rows of a page; for pool keys, keys of a page
  std::uint32_t chunk_pages = 64;  ///< page ids of a chunk
  std::uint32_t ranks = 1;         ///< tensor-parallel ranks of every stage
  std::uint32_t stages = 1;        ///< pipeline stages, each with layers of its own
};

/// Checks a layout whole.
///
/// Errors   : kInvalidArgument naming layer and field; kUnsupported for what is valid but not built
///            yet
[[nodiscard]] Status validate(Layout const& layout) noexcept;

/// What Cache::create takes for a layout, once and for all. The host's own bookkeeping comes on top.
/// It grows with layers, pages and entries * tokens, and with the square of the sequences: the items of
/// all steps that may be open at once take 80 bytes * capacity.sequences * (capacity.sequences + 1),
/// 0.3 MiB for 64 sequences and 80 MiB for 1024.
struct BytesNeeded {
  std::uint64_t device = 0;    ///< memory of the fullest device: records, tables, arenas
  std::uint64_t devices = 0;   ///< memory of all devices together
  std::uint64_t pinned = 0;    ///< for each device, host memory that it can read
  std::uint64_t per_page = 0;  ///< of `devices`: one page of every addressed class together
  std::uint64_t per_slot = 0;  ///< of `devices`: one state slot
};

/// Most devices of one cache.
inline constexpr std::uint32_t kLargestDeviceCount = 64;
/// Most streams that one cache is used in over its life.
inline constexpr std::uint32_t kLargestStreamCount = 32;

/// Sizes a layout without creating anything.
///
/// Errors   : those of validate()
[[nodiscard]] Result<BytesNeeded> bytes_needed(Layout const& layout) noexcept;

/// Bytes of what a sequence of `tokens` rows holds, all ranks and stages together: its states, a row
/// of every addressed plane for each token, a key for each complete pool, and the indexer rows of the
/// open pool. It is the payload of a prefix entry at that position, headers apart.
///
/// Errors   : those of validate(); kInvalidArgument (tokens above capacity.tokens)
[[nodiscard]] Result<std::uint64_t> entry_bytes(Layout const& layout,
                                                std::uint32_t tokens) noexcept;

}  // namespace holdfast
