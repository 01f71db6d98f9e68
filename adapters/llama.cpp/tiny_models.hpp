// SPDX-License-Identifier: Apache-2.0
// Models of a few layers with random weights, made in memory by llama.h's llama_model_init_from_user:
// no model file is needed, and a decode takes a fraction of a millisecond. Weights are scaled so that
// attention rows and recurrent states matter to the logits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "llama.h"

namespace holdfast::llama_cpp {

/// Tokens of every tiny model; ids are below it.
inline constexpr std::uint32_t kVocabulary = 64;

/// Rows that a sliding window of a tiny model shows, the newest among them.
inline constexpr std::int32_t kWindow = 8;

/// Parts that an architecture is made of; each asks for its own keys of metadata.
enum Part : std::uint32_t {
  kAttention = 1U << 0U,       ///< attention layers that keep every row
  kLayerHeads = 1U << 1U,      ///< attention in the middle layer alone, told by heads of each layer
  kLatent = 1U << 2U,          ///< latent rows (MLA)
  kSelectiveState = 1U << 3U,  ///< conv and ssm state of Mamba
  kDeltaState = 1U << 4U,      ///< conv and matrix state of gated delta nets
  kShortConv = 1U << 5U,       ///< a conv state alone
  kWindowed = 1U << 6U,        ///< layers that keep a window of rows
  kExperts = 1U << 7U,         ///< experts, all of them used
  kIndexed = 1U << 8U,         ///< an indexer that selects rows
  kCompressed = 1U << 9U,      ///< windows beside compressed rows (deepseek4)
  kRollback = 1U << 10U,       ///< states that can go back a few rows (n_rs_seq)
  kFixed = 1U << 11U,          ///< positions that cannot be shifted (llama_memory_can_shift)
};

/// One architecture of llama.cpp as a tiny model.
struct Architecture {
  std::string_view name;  ///< as general.architecture says it
  std::uint32_t parts;    ///< of Part
  std::uint32_t width;    ///< embedding length
  std::uint32_t heads;
  std::uint32_t layers;
  std::uint32_t inner;  ///< feed-forward length

  bool has(std::uint32_t some) const { return (parts & some) != 0; }
  /// Has a state that no row shows, so that it cannot be shortened at will.
  bool has_state() const { return has(kSelectiveState | kDeltaState | kShortConv | kCompressed); }
};

/// All that tiny models are made of, in the order in which the knob lists them.
std::vector<Architecture> const& architectures();

/// Null when no architecture has that name.
Architecture const* find_architecture(std::string_view name);

struct FreeModel {
  void operator()(llama_model* model) const { llama_model_free(model); }
};
using Model = std::unique_ptr<llama_model, FreeModel>;

/// Makes the model; the same seed gives the same weights everywhere. Null with `why` filled on failure.
Model make_tiny_model(Architecture const& architecture, std::uint64_t seed, std::string& why);

}  // namespace holdfast::llama_cpp
