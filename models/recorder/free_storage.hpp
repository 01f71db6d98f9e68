// SPDX-License-Identifier: Apache-2.0
// Knows which pages and slots of a cache are free, and poisons what becomes free.
//
// The free lists are stacks, so what an operation gave back lies above the first entry that
// differs from the list before it: the cost is that of comparing the lists of planes that changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <holdfast/inspect.hpp>
#include <span>
#include <vector>

#include "models/recorder/recorder.hpp"

namespace holdfast::model {

/// How much of one plane is free.
struct FreeCounts {
  std::uint32_t pages = 0;  // or slots
  std::uint32_t chunks = 0;
  friend bool operator==(FreeCounts const&, FreeCounts const&) = default;
};

/// The free storage of one cache, by plane.
class FreeStorage {
 public:
  explicit FreeStorage(Recorder& recorder) noexcept : recorder_{recorder} {}

  /// Looks at a new cache, whose memory is all poison.
  void start(Inspection const& inspection) {
    planes_.resize(inspection.plane_count());
    counts_.resize(planes_.size());
    for (std::uint32_t plane = 0; plane < planes_.size(); ++plane) {
      PlaneInfo const info = inspection.plane(plane);
      planes_[plane].bases.clear();
      for (std::uint32_t rank = 0; rank < inspection.ranks(); ++rank) {
        planes_[plane].bases.push_back(inspection.base(plane, rank));
      }
      planes_[plane].page_bytes = info.page_bytes;
      planes_[plane].free.clear();
      planes_[plane].changes = inspection.storage_changes(plane);
      remember(inspection, plane, 0, inspection.free_pages(plane));
    }
  }
  /// Counts what is free, and poisons nothing: work that is pending may still use it.
  void count(Inspection const& inspection) {
    for (std::uint32_t plane = 0; plane < planes_.size(); ++plane) {
      counts_[plane] = {.pages = static_cast<std::uint32_t>(inspection.free_pages(plane).size()),
                        .chunks = inspection.chunks_free(plane)};
    }
  }
  /// Poisons what became free since the last call.
  void update(Inspection const& inspection) {
    for (std::uint32_t plane = 0; plane < planes_.size(); ++plane) {
      std::uint64_t const changes = inspection.storage_changes(plane);
      if (changes == planes_[plane].changes) {
        continue;
      }
      planes_[plane].changes = changes;
      std::span<std::uint32_t const> const now = inspection.free_pages(plane);
      std::size_t const same = common_prefix(now, planes_[plane].free);
      for (std::uint32_t const page : now.subspan(same)) {
        poison(plane, page);
      }
      remember(inspection, plane, same, now);
    }
  }
  /// Poisons one page that is free.
  void poison(std::uint32_t plane, std::uint32_t page) {
    Plane const& known = planes_[plane];
    for (std::byte const* const base : known.bases) {
      recorder_.poison(base + page * known.page_bytes, known.page_bytes);
      if (on_poison_) {
        on_poison_(base + page * known.page_bytes, known.page_bytes);
      }
    }
  }
  /// Called for all memory that is poisoned.
  void set_on_poison(std::function<void(std::byte const*, std::uint64_t)> on_poison) {
    on_poison_ = std::move(on_poison);
  }
  /// Whether a page was free at the last update. O(free pages).
  [[nodiscard]] bool was_free(std::uint32_t plane, std::uint32_t page) const noexcept {
    std::vector<std::uint32_t> const& free = planes_[plane].free;
    return std::find(free.begin(), free.end(), page) != free.end();
  }
  /// By plane, as of the last update.
  [[nodiscard]] std::span<FreeCounts const> counts() const noexcept { return counts_; }

 private:
  struct Plane {
    std::vector<std::byte const*> bases;  // by rank
    std::uint64_t page_bytes = 0;
    std::uint64_t changes = 0;  // as of the last look at what is free
    std::vector<std::uint32_t> free;
  };

  /// Entries that are equal from the bottom on.
  static std::size_t common_prefix(std::span<std::uint32_t const> a,
                                   std::span<std::uint32_t const> b) noexcept {
    constexpr std::size_t kBlock = 16;
    std::size_t const limit = a.size() < b.size() ? a.size() : b.size();
    std::size_t same = 0;
    while (same + kBlock <= limit &&
           std::memcmp(&a[same], &b[same], kBlock * sizeof(std::uint32_t)) == 0) {
      same += kBlock;
    }
    while (same < limit && a[same] == b[same]) {
      ++same;
    }
    return same;
  }
  void remember(Inspection const& inspection,
                std::uint32_t plane,
                std::size_t same,
                std::span<std::uint32_t const> free) {
    std::vector<std::uint32_t>& known = planes_[plane].free;
    known.resize(free.size());
    std::copy_n(free.data() + same, free.size() - same, known.data() + same);
    counts_[plane] = {.pages = static_cast<std::uint32_t>(free.size()),
                      .chunks = inspection.chunks_free(plane)};
  }

  Recorder& recorder_;
  std::vector<Plane> planes_;
  std::vector<FreeCounts> counts_;
  std::function<void(std::byte const*, std::uint64_t)> on_poison_;
};

}  // namespace holdfast::model
