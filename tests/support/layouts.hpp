// SPDX-License-Identifier: Apache-2.0
// Small layouts in which every storage rule is met after a few rows: pages of 2 rows, chunks of 2
// pages.
#pragma once

#include <holdfast/layout.hpp>

namespace holdfast::test {

inline Capacity small_capacity() {
  Capacity capacity;
  capacity.sequences = 3;
  capacity.tokens = 40;
  capacity.largest_round = 4;
  capacity.snapshots = 4;
  return capacity;
}

inline AttentionKvSpec small_attention() {
  return {.heads = 2, .head_dim = 1};
}

/// Pool 2, ring of 6 rows: three pages of 2.
inline IndexerSpec small_indexer() {
  return {.index_width = 4, .pool = 2, .key_width = 2, .ring_rows = 6};
}

inline RecurrentSpec small_recurrent() {
  return {.conv_segments = {2, 3}, .kernel = 3, .heads = 1, .d_k = 2, .d_v = 2};
}

inline Layout small_layout(std::vector<Layer> layers) {
  Layout layout;
  layout.layers = std::move(layers);
  layout.capacity = small_capacity();
  layout.page_rows = 2;
  layout.chunk_pages = 2;
  return layout;
}

/// Attention alone: everything truncates.
inline Layout attention_layout() {
  return small_layout({{{small_attention()}}, {}, {{small_attention()}}});
}

/// Latent rows with an indexer, two layers of one shape, an MLP between them.
inline Layout latent_layout() {
  return small_layout({{{LatentSpec{.width = 3}, small_indexer()}},
                       {},
                       {{LatentSpec{.width = 3}, small_indexer()}}});
}

/// Held side state without any recurrent layer.
inline Layout held_layout() {
  return small_layout(
      {{{small_attention(), HeldSpec{.elements = 3}}}, {{HeldSpec{.elements = 1}}}});
}

/// All plane kinds.
inline Layout hybrid_layout() {
  return small_layout({{{small_attention()}},
                       {{small_recurrent(), HeldSpec{.elements = 2}}},
                       {{LatentSpec{.width = 3}, small_indexer()}},
                       {{RecurrentSpec{.conv_segments = {}, .heads = 2, .d_k = 1, .d_v = 3}}},
                       {{LatentSpec{.width = 3}, small_indexer(), small_attention()}}});
}

/// The same with `first` and `second` bytes of stash in its two recurrent layers.
inline Layout rescan_layout(std::uint32_t first = 16, std::uint32_t second = 32) {
  Layout layout = hybrid_layout();
  std::get<RecurrentSpec>(layout.layers[1].planes[0]).stash_row_bytes = first;
  std::get<RecurrentSpec>(layout.layers[3].planes[0]).stash_row_bytes = second;
  return layout;
}

/// Latent rows with an indexer whose pool is 1: the keys are rows.
inline Layout pool_of_one_layout() {
  IndexerSpec const keys{.index_width = 2, .pool = 1, .key_width = 2};
  return small_layout({{{LatentSpec{.width = 3}, keys}}, {{LatentSpec{.width = 3}, keys}}});
}

/// For every format of the list a layout that has it in keys and in latent rows; values are of the next
/// one. Rows are as wide as their blocks need.
inline std::vector<Layout> layouts_of_formats() {
  std::vector<Layout> layouts;
  for (std::uint32_t i = 0; i < kFormatCount; ++i) {
    auto const keys = static_cast<Format>(i);
    auto const values = static_cast<Format>((i + 1) % kFormatCount);
    std::uint32_t const block = trait_of(keys).block_elements;
    AttentionKvSpec const attention{.heads = 2,
                                    .head_dim = 3 * block * trait_of(values).block_elements,
                                    .format = keys,
                                    .value_format = values};
    LatentSpec const latent{.width = 3 * block, .format = keys};
    layouts.push_back(small_layout({{{attention, latent}}, {{attention, small_indexer()}}}));
  }
  return layouts;
}

/// Layers of different formats: attention and latent rows, two layers of each shape.
inline Layout formats_layout() {
  AttentionKvSpec f16 = small_attention();
  AttentionKvSpec bf16 = small_attention();
  f16.format = Format::kF16;
  bf16.format = Format::kBf16;
  return small_layout({{{f16, LatentSpec{.width = 3, .format = Format::kBf16}}},
                       {{bf16, LatentSpec{.width = 3}, small_indexer()}},
                       {{bf16, LatentSpec{.width = 3, .format = Format::kF16}}}});
}

}  // namespace holdfast::test
