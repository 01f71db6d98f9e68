// SPDX-License-Identifier: Apache-2.0
// Tokens of a program, and the keys that stand for them in prompts.
#pragma once

#include <cstdint>
#include <holdfast/prefix.hpp>

namespace holdfast::model {

/// One row of one handle, numbered from 1 on through a program. It names who wrote a row, and tells what
/// the row must hold, so that no two rows are alike. A prompt shows its key. 0 is no token.
using Token = std::uint32_t;

/// Which keys stand in a prompt: `key + p % period * step` at position p. So sequences that one rule wrote
/// have one prompt, as far as they both go, and part where their rules do.
struct KeyRule {
  TokenKey key = 0;
  std::uint32_t period = 0;  // 0: the key of a token is its number, which no other token has
  TokenKey step = 0;

  friend bool operator==(KeyRule const&, KeyRule const&) = default;
  [[nodiscard]] bool is_own() const noexcept { return period == 0; }
  [[nodiscard]] TokenKey key_of(Token token, std::uint32_t position) const noexcept {
    return is_own() ? token : key + position % period * step;
  }
};

}  // namespace holdfast::model
