// SPDX-License-Identifier: Apache-2.0
// The rules of order between streams, devices and the host, each with the seeded bugs that break it;
// and docs/ORDER.md, as they make it.
#pragma once

#include <span>
#include <string>

namespace holdfast::fuzz {

/// One rule.
struct OrderRule {
  char const* name;     ///< one word
  char const* text;     ///< what comes before what
  char const* where;    ///< source file that keeps it
  char const* mutants;  ///< names of the seeded bugs that break it, separated by spaces
};

/// All rules.
[[nodiscard]] std::span<OrderRule const> all_order_rules() noexcept;

/// The whole page; a test compares it with the file.
[[nodiscard]] std::string order_page();

}  // namespace holdfast::fuzz
