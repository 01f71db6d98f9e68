// SPDX-License-Identifier: Apache-2.0
// The byte form of programs, for fuzzers. It is made for mutation, not to be kept: what is kept is
// a trace.
//
//   magic 0xF5, version 5; or version 6 and the seed of simulated devices
//   geometry reference: its length, then its characters
//   until the bytes end: operation (its place in the list of operations), then its fields in order
//
// Numbers take one to four bytes, seven bits each, the lowest first; seeds and keys up to ten. Names and enumerators take one
// byte. The items of a step begin with their number. What is missing at the end is 0.
//
// Decoding is total: whatever follows the version is a program. Numbers that are too large are cut to
// what is allowed, names and enumerators are taken modulo their count.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/trace.hpp"

namespace holdfast::fuzz {

/// First byte of every encoded program; no trace begins with it.
inline constexpr std::uint8_t kProgramMagic = 0xF5;
inline constexpr std::uint8_t kProgramVersion = 5;
/// Of programs on simulated devices.
inline constexpr std::uint8_t kSimProgramVersion = 6;
/// Most operations of an encoded program; what follows is not read.
inline constexpr std::uint32_t kProgramOpLimit = 256;
/// Longest geometry reference.
inline constexpr std::uint32_t kReferenceLimit = 4096;
/// Largest number of a field.
inline constexpr std::uint32_t kNumberLimit = 1U << 24U;

/// Whether the bytes say of themselves that they are a program, of whatever version.
[[nodiscard]] constexpr bool is_program(std::span<std::uint8_t const> bytes) noexcept {
  return !bytes.empty() && bytes.front() == kProgramMagic;
}
[[nodiscard]] constexpr bool is_program(std::string_view text) noexcept {
  return !text.empty() && static_cast<std::uint8_t>(text.front()) == kProgramMagic;
}

/// The program as bytes. Comments are left out; so is what goes past the limits above, and devices
/// that are not simulated.
[[nodiscard]] std::vector<std::uint8_t> encode_program(model::Trace const& program);

/// The program that the bytes stand for. Bytes that do not begin as programs do are that without
/// geometry and operations.
[[nodiscard]] model::Trace decode_program(std::span<std::uint8_t const> bytes);

/// The program that `text` is, a trace or an encoded program; `origin` begins the line of the
/// InputError that is thrown when it is neither.
[[nodiscard]] model::Trace parse_program(std::string const& text, std::string const& origin);

/// The same of a file. Throws InputError when it is missing or unreadable, too.
[[nodiscard]] model::Trace load_program(std::string const& path);

}  // namespace holdfast::fuzz
