// SPDX-License-Identifier: Apache-2.0
// A cache with prefix entries, a sequence, and what tests of entries do again and again.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <holdfast/cache.hpp>
#include <utility>
#include <vector>

#include "tests/support/layouts.hpp"
#include "tests/support/picture.hpp"
#include "tests/support/status.hpp"
#include "tests/support/toy_engine.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {

/// A layout with room for entries.
inline Layout with_entries(Layout layout, std::uint32_t entries = 4) {
  layout.capacity.entries = entries;
  layout.capacity.sequences = 4;
  return layout;
}

/// Recurrent layers alone: no row grows with the tokens.
inline Layout recurrent_layout() {
  return small_layout({{{small_recurrent()}}, {{small_recurrent()}}});
}

inline constexpr PrefixScope kScope{.model = 11, .adapter = 12, .tenant = 13};

/// One cache and what a test does with it.
struct EntryBench {
  explicit EntryBench(Layout const& layout)
      : cache{Cache::create(layout, device)}, engine{*cache} {}

  Sequence sequence() {
    auto made = cache->create_sequence();
    EXPECT_TRUE(IsOk(made));
    return made ? std::move(*made) : Sequence{};
  }
  /// A snapshot of a new sequence with these tokens; the sequence is gone.
  Snapshot snapshot_of(History const& tokens) {
    Sequence own = sequence();
    History history;
    if (!tokens.empty()) {
      engine.append(own, history, tokens);
    }
    auto taken = own.snapshot();
    EXPECT_TRUE(IsOk(taken));
    return taken ? std::move(*taken) : Snapshot{};
  }
  /// An entry of these tokens, and nobody else holds its storage.
  EntryId entry_of(History const& tokens, PrefixScope const& scope = kScope) {
    Snapshot const held = snapshot_of(tokens);
    auto const captured = cache->capture(scope, held, tokens);
    EXPECT_TRUE(IsOk(captured));
    return captured ? *captured : EntryId{};
  }
  Result<Restored> restore(History const& tokens, std::uint32_t limit = UINT32_MAX) {
    return cache->restore(kScope, tokens, limit);
  }
  std::vector<std::byte> bytes_of(EntryId entry) {
    auto const size = cache->entry_bytes(entry);
    EXPECT_TRUE(IsOk(size));
    std::vector<std::byte> bytes(size ? size->total : 0);
    auto const written = cache->serialize(entry, bytes);
    EXPECT_TRUE(IsOk(written));
    EXPECT_EQ(written ? *written : 0, bytes.size());
    return bytes;
  }

  WrappingDevice device;
  Result<Cache> cache;
  ToyEngine engine;
};

}  // namespace holdfast::test
