// SPDX-License-Identifier: Apache-2.0
// Adds up who was named how often, in no memory: tallies of the same names are equal, and those of others
// are not, but for one pair in 2^64.
#pragma once

#include <cstdint>

namespace holdfast::internal::base {

/// A multiset of numbers, of which nothing but equality is kept.
class Tally {
 public:
  void add(std::uint32_t number, std::uint64_t times = 1) noexcept {
    sum_ += mixed(number) * times;
    count_ += times;
  }
  friend bool operator==(Tally const&, Tally const&) noexcept = default;

 private:
  /// The finalizer of SplitMix64.
  [[nodiscard]] static std::uint64_t mixed(std::uint64_t number) noexcept {
    number = (number + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
    number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
    return number ^ (number >> 31U);
  }

  std::uint64_t sum_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace holdfast::internal::base
