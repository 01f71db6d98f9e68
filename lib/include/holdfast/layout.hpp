// SPDX-License-Identifier: Apache-2.0
// The layout of a model's inference state: which planes each layer owns, their shapes, and the
// capacities.
//
// A layout is plain data, validated whole by `validate` (and by Cache::create); each refusal names
// the layer and the field.
#pragma once

#include <cstdint>
#include <holdfast/result.hpp>
#include <variant>
#include <vector>

namespace holdfast {

/// The plane kinds. The class of a kind decides its rollback rule.
enum class PlaneKind : std::uint8_t {
  kAttentionKv,  ///< append-only: K and V rows
  kLatent,       ///< append-only: MLA latent rows
  kPoolKeys,     ///< derived-final: one key for each complete index pool
  kTailRing,     ///< windowed: the raw indexer rows that are still needed
  kRecurrent,    ///< accumulator: conv window and ssm state
};

/// Number of plane kinds.
inline constexpr std::uint32_t kPlaneKindCount = 5;

/// Name of a kind as it is written in messages and traces, e.g. "attention_kv".
[[nodiscard]] char const* name_of(PlaneKind kind) noexcept;

/// Element format of a plane.
enum class Format : std::uint8_t { kF32 };

/// Full attention: each token adds one row [2, heads, head_dim], keys first, then values.
struct AttentionKvSpec {
  std::uint32_t heads = 0;     ///< KV heads; divides over the ranks
  std::uint32_t head_dim = 0;  ///< elements
  Format format = Format::kF32;
};

/// Multi-head latent attention: each token adds one row [width].
struct LatentSpec {
  std::uint32_t width = 0;  ///< elements
  Format format = Format::kF32;
};

/// Sparse indexer: each token adds one row [index_width] = [value | gate], each `key_width` wide;
/// every `pool` rows are summarised by one pool key [key_width]. Owns two planes: pool keys and
/// tail ring.
struct IndexerSpec {
  std::uint32_t index_width = 0;  ///< elements; 2 * key_width
  std::uint32_t pool = 0;         ///< rows that one key summarises; at least 2
  std::uint32_t key_width = 0;    ///< elements
  std::uint32_t ring_rows =
      0;  ///< R: a multiple of pool and of page_rows, at least pool - 1 + max(1, largest round)
};

/// Recurrent layer (GDN, KDA, Mamba): conv window [sum of segments, kernel - 1] and ssm state
/// [heads, d_k, d_v], f32. Either part may be absent (kernel 0, or heads 0), not both.
struct RecurrentSpec {
  std::vector<std::uint32_t> conv_segments;  ///< channels of each segment (q, k, v or x, B, C);
                                             ///< each divides over the ranks
  std::uint32_t kernel = 0;  ///< conv kernel width; the window keeps kernel - 1 inputs
  std::uint32_t heads = 0;   ///< ssm heads; divides over the ranks
  std::uint32_t d_k = 0;     ///< elements
  std::uint32_t d_v = 0;     ///< elements
};

using PlaneSpec = std::variant<AttentionKvSpec, LatentSpec, IndexerSpec, RecurrentSpec>;

/// One model layer; it may own several planes, or none (an MLP).
struct Layer {
  std::vector<PlaneSpec> planes;
};

/// How much a cache can hold. A zero stands for the worst case of the others, so that it never runs
/// out.
struct Capacity {
  std::uint32_t sequences = 1;      ///< sequences alive at once
  std::uint32_t tokens = 0;         ///< most rows of one sequence
  std::uint32_t largest_round = 0;  ///< most provisional rows of a verify
  std::uint32_t snapshots = 0;      ///< snapshots alive at once
  std::uint32_t step_rows =
      0;                    ///< most rows of one step; 0 = one full sequence and a round of each
  std::uint32_t slots = 0;  ///< state slots, the reserved one not counted; 0 = worst case
  std::uint32_t pages =
      0;  ///< pages of each addressed class, the reserved one not counted; 0 = worst case
  std::uint32_t ring_pages =
      0;  ///< pages of each ring class, the reserved one not counted; 0 = worst case
};

/// The whole layout of one cache.
struct Layout {
  std::vector<Layer> layers;
  Capacity capacity;
  std::uint32_t page_rows = 64;    ///< rows of a page; for pool keys, keys of a page
  std::uint32_t chunk_pages = 64;  ///< page ids of a chunk
  std::uint32_t ranks = 1;         ///< tensor-parallel ranks
};

/// Largest value of any size field of a layout; keeps every byte count inside 63 bits.
inline constexpr std::uint32_t kLargestSize = 1U << 24U;

/// Checks a layout whole.
///
/// Errors   : kInvalidArgument naming layer and field; kUnsupported for what is valid but not built
///            yet
[[nodiscard]] Status validate(Layout const& layout) noexcept;

/// What Cache::create takes for a layout, once and for all.
struct BytesNeeded {
  std::uint64_t device = 0;    ///< device memory: records, tables, arenas
  std::uint64_t pinned = 0;    ///< host memory that the device can read
  std::uint64_t per_page = 0;  ///< of `device`: one page of every addressed class together
  std::uint64_t per_slot = 0;  ///< of `device`: one state slot
};

/// Sizes a layout without creating anything.
///
/// Errors   : those of validate()
[[nodiscard]] Result<BytesNeeded> bytes_needed(Layout const& layout) noexcept;

}  // namespace holdfast
