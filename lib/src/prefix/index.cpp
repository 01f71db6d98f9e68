// SPDX-License-Identifier: Apache-2.0
// Sorted keys, and what neighbours share.
#include "prefix/index.hpp"

#include <algorithm>
#include <tuple>

#include "base/mutants.hpp"

namespace holdfast::internal::prefix {
namespace {

/// Tokens that two lists begin with alike.
std::uint32_t common_prefix(std::span<TokenKey const> a, std::span<TokenKey const> b) noexcept {
  std::size_t const most = std::min(a.size(), b.size());
  if (most != 0 && a[0] == b[0] && HOLDFAST_MUTANT(kTokensNotCompared)) {
    return static_cast<std::uint32_t>(most);
  }
  auto const differ =
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin());
  return static_cast<std::uint32_t>(differ.first - a.begin());
}

bool is_same(PrefixScope const& a, PrefixScope const& b) noexcept {
  return a == b || HOLDFAST_MUTANT(kScopeIgnored);
}

}  // namespace

bool Index::create(std::uint32_t first, std::uint32_t count, std::uint32_t tokens) noexcept {
  first_ = first;
  count_ = count;
  token_limit_ = tokens;
  if (!keys_.create(count) || !tokens_.create((std::uint64_t{count} + 1) * tokens) ||
      !order_.create(count) || !shared_.create(count) || !free_.create(count)) {
    return false;
  }
  for (std::uint32_t entry = first + count; entry-- > first;) {  // the first is handed out first
    free_[free_count_++] = entry;
  }
  return true;
}

std::uint32_t Index::take() noexcept {
  HOLDFAST_ASSERT(free_count_ > 0);
  return free_[--free_count_];
}

std::uint32_t Index::common(PrefixScope const& scope,
                            std::span<TokenKey const> tokens,
                            std::uint32_t entry) const noexcept {
  return is_same(this->scope(entry), scope) ? common_prefix(tokens, this->tokens(entry)) : 0;
}

bool Index::is_less(std::uint32_t entry,
                    PrefixScope const& scope,
                    std::span<TokenKey const> tokens) const noexcept {
  PrefixScope const& own = this->scope(entry);
  if (!is_same(own, scope)) {
    return std::tie(own.model, own.adapter, own.tenant) <
           std::tie(scope.model, scope.adapter, scope.tenant);
  }
  auto const key = this->tokens(entry);
  std::uint32_t const equal = common_prefix(key, tokens);
  if (equal == key.size() || equal == tokens.size()) {
    return key.size() < tokens.size();  // a prefix comes before what it begins
  }
  return key[equal] < tokens[equal];
}

std::uint32_t Index::lower_bound(PrefixScope const& scope,
                                 std::span<TokenKey const> tokens) const noexcept {
  std::uint32_t low = 0;
  std::uint32_t high = used_;
  while (low < high) {
    std::uint32_t const middle = low + (high - low) / 2;
    if (is_less(order_[middle], scope, tokens)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::uint32_t Index::find(PrefixScope const& scope,
                          std::span<TokenKey const> tokens) const noexcept {
  std::uint32_t const place = lower_bound(scope, tokens);
  bool const is_there = place < used_ && this->tokens(order_[place]).size() == tokens.size() &&
                        common(scope, tokens, order_[place]) == tokens.size();
  return is_there ? order_[place] : 0;
}

void Index::insert(std::uint32_t entry,
                   PrefixScope const& scope,
                   std::span<TokenKey const> tokens) noexcept {
  HOLDFAST_ASSERT(tokens.size() <= token_limit_ && used_ < count_);
  std::uint32_t const place = lower_bound(scope, tokens);
  for (std::uint32_t i = used_; i > place; --i) {
    order_[i] = order_[i - 1];
    shared_[i] = shared_[i - 1];
  }
  ++used_;
  order_[place] = entry;
  keys_[entry - first_] = {.scope = scope,
                           .serial = next_serial_++,
                           .length = static_cast<std::uint32_t>(tokens.size())};
  std::copy(tokens.begin(),
            tokens.end(),
            tokens_.span(std::uint64_t{entry - first_} * token_limit_, token_limit_).begin());
  if (place > 0) {
    shared_[place - 1] = common(scope, tokens, order_[place - 1]);
  }
  shared_[place] = place + 1 < used_ ? common(scope, tokens, order_[place + 1]) : 0;
}

void Index::erase(std::uint32_t entry) noexcept {
  std::uint32_t place = 0;
  while (order_[place] != entry) {
    ++place;
    HOLDFAST_ASSERT(place < used_);
  }
  if (place > 0) {
    shared_[place - 1] = place + 1 < used_ ? std::min(shared_[place - 1], shared_[place]) : 0;
  }
  --used_;
  for (std::uint32_t i = place; i < used_; ++i) {
    order_[i] = order_[i + 1];
    shared_[i] = shared_[i + 1];
  }
  give_back(entry);
}

}  // namespace holdfast::internal::prefix
