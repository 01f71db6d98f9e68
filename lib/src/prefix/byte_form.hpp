// SPDX-License-Identifier: Apache-2.0
// The byte form of a prefix entry, version 2; docs/BYTE_FORM.md says it for people. Little endian,
// nothing aligned:
//
//   magic "HFPREFIX", version u32, planes u32, total bytes u64, layout fingerprint u64, ranks u32,
//   tokens u32, model u64, adapter u64, tenant u64
//   for each plane: kind u32, layers u32, rows u32, bytes u64
//   token keys u64
//   payload: for each plane, for each layer: its rows, part by part; or conv window, then ssm state
//   XXH3-64 of everything before it
//
// Nothing here knows planes or devices: this file lays out and checks, the cache moves bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <holdfast/layout.hpp>
#include <holdfast/prefix.hpp>
#include <holdfast/result.hpp>
#include <span>

#include "storage/plan.hpp"

namespace holdfast::internal::prefix {

inline constexpr std::uint32_t kByteFormVersion = 2;

/// One plane of the header.
struct PlaneForm {
  std::uint32_t kind;
  std::uint32_t layers;
  std::uint32_t rows;  // in the plane's own unit; of a ring those of the open pool, of a state 1
  std::uint64_t bytes;
  friend bool operator==(PlaneForm const&, PlaneForm const&) = default;
};

/// What the header says.
struct Form {
  std::uint64_t fingerprint = 0;
  std::uint32_t ranks = 1;
  std::uint32_t tokens = 0;
  PrefixScope scope;
  std::uint32_t plane_count = 0;
  std::array<PlaneForm, storage::kLargestClassCount> planes{};

  /// Bytes of everything; UINT64_MAX when they cannot be counted.
  [[nodiscard]] EntryBytes bytes() const noexcept;
  /// Where the token keys start, and the payload.
  [[nodiscard]] std::uint64_t tokens_at() const noexcept;
  [[nodiscard]] std::uint64_t payload_at() const noexcept {
    return tokens_at() + std::uint64_t{tokens} * sizeof(TokenKey);
  }
};

/// Digest of the planes of a layout: layers, their stages, and every field of every spec. Capacities and page sizes
/// change no byte of an entry.
[[nodiscard]] std::uint64_t fingerprint_of(Layout const& layout) noexcept;

/// Writes header and tokens. Requires room for form.bytes().total.
void write_head(Form const& form,
                std::span<TokenKey const> tokens,
                std::span<std::byte> out) noexcept;
/// Writes the checksum behind everything. `out` is exactly as long as the entry.
void seal(std::span<std::byte> out) noexcept;

/// Reads the header of bytes that nobody vouches for. What it returns agrees with the number of
/// bytes and their checksum; whose entry it is has not been looked at.
/// Errors   : kInvalidArgument (magic), kUnsupported (version), kDamaged
[[nodiscard]] Result<Form> read_head(std::span<std::byte const> bytes) noexcept;
/// Compares a header with what this cache would have written. Errors: kInvalidArgument naming what
/// is foreign; kDamaged when it says so of itself but its sizes do not follow.
[[nodiscard]] Status check_owner(Form const& found, Form const& own) noexcept;
[[nodiscard]] Status check_sizes(Form const& found, Form const& own) noexcept;
/// Copies the token keys of a checked header.
void read_tokens(Form const& form,
                 std::span<std::byte const> bytes,
                 std::span<TokenKey> out) noexcept;

}  // namespace holdfast::internal::prefix
