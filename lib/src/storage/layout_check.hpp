// SPDX-License-Identifier: Apache-2.0
// Validation of layouts.
#pragma once

#include <holdfast/layout.hpp>

namespace holdfast::internal::storage {

/// Checks a layout, sizes of its arenas apart. Errors: those of validate().
[[nodiscard]] Status check_layout(Layout const& layout) noexcept;

}  // namespace holdfast::internal::storage
