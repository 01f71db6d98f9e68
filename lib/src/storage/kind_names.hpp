// SPDX-License-Identifier: Apache-2.0
// Kinds by name, for seeded bugs alone: the library itself never tells one kind from another.
#pragma once

#include <holdfast/planes/spec.hpp>
#include <string_view>

namespace holdfast::internal::storage {

/// Whether a kind has this name.
[[nodiscard]] inline bool is_named(PlaneKind kind, std::string_view name) noexcept {
  return name == name_of(kind);
}

}  // namespace holdfast::internal::storage
