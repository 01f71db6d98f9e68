// SPDX-License-Identifier: Apache-2.0
// The index of prefix entries: keys in sorted order, so that entries with the longest common prefix
// stand beside the place where a look-up would insert.
//
// Keys are compared token by token; no hash decides anything. Neighbours know how many tokens they
// share, so that a walk away from that place compares no token again.
#pragma once

#include <cstdint>
#include <holdfast/prefix.hpp>
#include <span>

#include "base/fixed_array.hpp"

namespace holdfast::internal::prefix {

/// Keys of entries. Entries have the indices [first, first + count) of their holders. Never
/// allocates after create.
class Index {
 public:
  /// False when the host has no memory. Host memory for `count` keys of `tokens` token keys is reserved, but
  /// touched only as far as keys are long.
  [[nodiscard]] bool create(std::uint32_t first,
                            std::uint32_t count,
                            std::uint32_t tokens) noexcept;

  [[nodiscard]] std::uint32_t free_count() const noexcept { return free_count_; }
  /// Hands out an index that is in no key yet. Requires free_count() > 0.
  [[nodiscard]] std::uint32_t take() noexcept;
  /// Takes back what take() handed out and no insert() followed.
  void give_back(std::uint32_t entry) noexcept { free_[free_count_++] = entry; }
  /// The entry with exactly this key; 0 for none.
  [[nodiscard]] std::uint32_t find(PrefixScope const& scope,
                                   std::span<TokenKey const> tokens) const noexcept;
  /// Gives `entry` a key that no other has, and makes it the youngest.
  void insert(std::uint32_t entry,
              PrefixScope const& scope,
              std::span<TokenKey const> tokens) noexcept;
  /// Removes the key and takes the index back.
  void erase(std::uint32_t entry) noexcept;

  [[nodiscard]] PrefixScope const& scope(std::uint32_t entry) const noexcept {
    return keys_[entry - first_].scope;
  }
  [[nodiscard]] std::span<TokenKey const> tokens(std::uint32_t entry) const noexcept {
    return tokens_.span(std::uint64_t{entry - first_} * token_limit_, keys_[entry - first_].length);
  }
  /// Whether `a` was inserted before `b`.
  [[nodiscard]] bool is_older(std::uint32_t a, std::uint32_t b) const noexcept {
    return keys_[a - first_].serial < keys_[b - first_].serial;
  }
  /// Room for one key of the longest kind, that is nobody's.
  [[nodiscard]] std::span<TokenKey> scratch() noexcept {
    return tokens_.span(std::uint64_t{count_} * token_limit_, token_limit_);
  }

  /// Calls `visit(entry, common)` for entries of the scope that share at least one token with
  /// `tokens`, `common` of them, longest first, until it returns false.
  template <typename Visit>
  void for_each_common(PrefixScope const& scope,
                       std::span<TokenKey const> tokens,
                       Visit visit) const noexcept {
    std::uint32_t up = lower_bound(scope, tokens);  // next one to visit
    std::uint32_t down = up;                        // one past the next one to visit
    std::uint32_t above = up < used_ ? common(scope, tokens, order_[up]) : 0;
    std::uint32_t below = down > 0 ? common(scope, tokens, order_[down - 1]) : 0;
    while (above != 0 || below != 0) {
      if (below >= above) {
        if (!visit(order_[--down], below)) {
          return;
        }
        below = down > 0 ? least(below, shared_[down - 1]) : 0;
      } else {
        if (!visit(order_[up++], above)) {
          return;
        }
        above = up < used_ ? least(above, shared_[up - 1]) : 0;
      }
    }
  }

 private:
  struct Key {
    PrefixScope scope;
    std::uint64_t serial;
    std::uint32_t length;
  };

  [[nodiscard]] static std::uint32_t least(std::uint32_t a, std::uint32_t b) noexcept {
    return a < b ? a : b;
  }
  /// Tokens that a key shares with an entry's; 0 in another scope.
  [[nodiscard]] std::uint32_t common(PrefixScope const& scope,
                                     std::span<TokenKey const> tokens,
                                     std::uint32_t entry) const noexcept;
  [[nodiscard]] bool is_less(std::uint32_t entry,
                             PrefixScope const& scope,
                             std::span<TokenKey const> tokens) const noexcept;
  /// Place of the first key that is not less.
  [[nodiscard]] std::uint32_t lower_bound(PrefixScope const& scope,
                                          std::span<TokenKey const> tokens) const noexcept;

  base::FixedArray<Key> keys_;              // [count], by index
  base::FixedArray<TokenKey> tokens_;       // [count + 1, token_limit]; the last is scratch
  base::FixedArray<std::uint32_t> order_;   // [count], indices in the order of their keys
  base::FixedArray<std::uint32_t> shared_;  // [count]: tokens that places i and i + 1 share
  base::FixedArray<std::uint32_t> free_;
  std::uint64_t next_serial_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t token_limit_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t free_count_ = 0;
};

}  // namespace holdfast::internal::prefix
