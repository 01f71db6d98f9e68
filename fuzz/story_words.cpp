// SPDX-License-Identifier: Apache-2.0
#include "fuzz/story_words.hpp"

#include <span>

#include "models/ops/op_list.hpp"

namespace holdfast::fuzz {
namespace {

struct Meaning {
  std::string_view name;
  std::string_view text;
};

constexpr Meaning kPlanes[] = {
    {"attention_kv", "keys and values of attention, a row a token"},
    {"latent", "compressed rows of latent attention, one a token"},
    {"pool_keys", "keys by which a sparse indexer finds latent rows, one for each pool of tokens"},
    {"tail_ring", "the newest raw rows of the indexer, in a ring that is written over"},
    {"recurrent", "conv windows and ssm states, one slot for each state; the number is the slot"},
    {"held", "side state that must travel with the rest, in slots; the number is the slot"},
    {"draft_kv", "keys and values of a draft model, which may lag behind"},
    {"draft_latent", "latent rows of a draft model, which may lag behind"},
};

constexpr std::string_view meaning_in(std::span<Meaning const> table, std::string_view name) {
  for (Meaning const& one : table) {
    if (one.name == name) {
      return one.text;
    }
  }
  return "";
}

}  // namespace

std::string_view meaning_of_operation(std::string_view kind) noexcept {
  for (std::uint32_t i = 0; i < model::AllOps::kCount; ++i) {
    if (kind == model::AllOps::kNames[i]) {
      return model::AllOps::kMeanings[i];
    }
  }
  return "";
}

std::string_view meaning_of_plane(std::string_view name) noexcept {
  return meaning_in(kPlanes, name);
}

}  // namespace holdfast::fuzz
