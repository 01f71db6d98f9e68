// SPDX-License-Identifier: Apache-2.0
// Prefix entries: snapshots that are published under their token keys, for other sequences to start
// from. The calls are those of Cache; the types are here.
//
// An entry of position p is usable at q <= p iff every plane can start there: append-only rows
// always; pool keys and tail ring when q is a multiple of the pool, or lies in the open pool of p;
// a recurrent state only at p itself. What an entry holds is what a snapshot holds.
#pragma once

#include <cstdint>

namespace holdfast {

/// What stands at one position of a prompt: a token id, or a digest of what has none, as of a piece of an
/// image. The library only compares: any 64 bits are a key, and a prompt may repeat them.
using TokenKey = std::uint64_t;

/// What else changes the bytes, or who may see them. Part of the key, together with the token keys;
/// the layout, its formats and ranks are one for a whole cache. A salt that keeps tenants apart, or
/// a digest of the adapter's weights: the library only compares.
struct PrefixScope {
  std::uint64_t model = 0;
  std::uint64_t adapter = 0;
  std::uint64_t tenant = 0;
  friend bool operator==(PrefixScope const&, PrefixScope const&) = default;
};

/// Names a prefix entry. The cache owns its entries: an id is a value, and stale after erase.
struct EntryId {
  std::uint32_t index = 0;  ///< also its index among the holders of an Inspection
  std::uint32_t generation = 0;
  friend bool operator==(EntryId, EntryId) = default;
};

/// What a look-up found.
struct PrefixMatch {
  std::uint32_t length = 0;  ///< rows that a restore would start with; 0 is a miss
  EntryId entry;             ///< the entry it would take; {0, 0} for a miss
  /// What kept it from being longer: "limit"; "tokens" when the given tokens and every entry agree on no
  /// more; else the plane that refused the entry with which they agree on most, or of several the one
  /// captured first. "entry" when there is nothing but one that is still being written.
  char const* limited_by = "";
  /// The position that `limited_by` refused: of a limit and of tokens the one above the length, of a
  /// plane the longest that limit and tokens leave.
  std::uint32_t limited_at = 0;
};

/// How large an entry is.
struct EntryBytes {
  std::uint64_t payload = 0;  ///< rows, keys and states of all planes
  std::uint64_t total = 0;    ///< what serialize writes: header, tokens, payload, checksum
};

}  // namespace holdfast
