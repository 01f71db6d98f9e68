// SPDX-License-Identifier: Apache-2.0
// What operations and planes are, for a reader who sees them for the first time.
#pragma once

#include <string_view>

namespace holdfast::fuzz {

/// "takes a sequence back to what a snapshot holds, in every plane"; "" for no operation.
[[nodiscard]] std::string_view meaning_of_operation(std::string_view kind) noexcept;

/// "latent rows of MLA, one a token"; "" for no plane.
[[nodiscard]] std::string_view meaning_of_plane(std::string_view name) noexcept;

}  // namespace holdfast::fuzz
