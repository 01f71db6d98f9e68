// SPDX-License-Identifier: Apache-2.0
// Pieces of output that commands share.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fuzz/runner.hpp"

namespace holdfast::tools {

using Json = nlohmann::ordered_json;

/// One object, indented, with a line end. Text that is not UTF-8 is mended.
std::string text_of(Json const& json);

/// 16 hexadecimal digits.
std::string digest_text(std::uint64_t digest);

/// The violations as an array of objects; what does not apply is null.
Json json_of(std::vector<invariant::Violation> const& violations);

/// "LEN, PROV": each id once.
std::string ids_of(std::vector<invariant::Violation> const& violations);

/// "1 violation", "2 violations".
std::string counted(std::uint64_t count, std::string const& noun);

/// So many a second.
double rate_of(std::uint64_t count, double seconds);

/// How a failure is made small.
std::string minimize_with(std::string const& command);

/// The last two lines of any failure.
std::string reproduce_with(std::string const& command);

}  // namespace holdfast::tools
