// SPDX-License-Identifier: Apache-2.0
// Pages (or state slots) of one class on one device: memory, references, and who may write in
// place.
//
// Index 0 is reserved: never handed out, never referenced. A page is free iff it has no reference.
#pragma once

#include <cstdint>
#include <holdfast/device.hpp>
#include <span>

#include "base/contract.hpp"
#include "base/fixed_array.hpp"
#include "base/mutants.hpp"
#include "base/tally.hpp"

namespace holdfast::internal::storage {

/// A sequence as writer marks name it: generation << 32 | index; 0 is nobody (generations start at
/// 1).
using WriterMark = std::uint64_t;

/// Fixed pool of equal pieces of device memory with reference counts. Never allocates after create.
class PageArena {
 public:
  /// Takes `base` [count * page_bytes] device memory. Returns false when the host has no memory.
  [[nodiscard]] bool create(std::byte* base,
                            std::uint64_t page_bytes,
                            std::uint32_t count) noexcept {
    HOLDFAST_ASSERT(count > 0);
    HOLDFAST_ASSERT(page_bytes > 0);
    base_ = base;
    page_bytes_ = page_bytes;
    count_ = count;
    if (!pages_.create(count) || !free_.create(count)) {
      return false;
    }
    // Stack order: page 1 is handed out first.
    for (std::uint32_t page = count; page-- > 1;) {
      free_[free_count_++] = page;
    }
    HOLDFAST_ASSERT(free_count_ == count - 1);
    return true;
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t free_count() const noexcept { return free_count_; }
  /// The last is handed out first.
  [[nodiscard]] std::span<std::uint32_t const> free_pages() const noexcept {
    return free_.span(0, free_count_);
  }
  /// Raised whenever a page is handed out or becomes free.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  [[nodiscard]] std::uint64_t page_bytes() const noexcept { return page_bytes_; }
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::byte* address(std::uint32_t page) const noexcept {
    HOLDFAST_ASSERT(page < count_);
    return base_ + page * page_bytes_;
  }
  [[nodiscard]] std::uint32_t references(std::uint32_t page) const noexcept {
    return pages_[page].references;
  }
  [[nodiscard]] WriterMark writer(std::uint32_t page) const noexcept { return pages_[page].writer; }
  /// Lap in which a ring page was last shared.
  [[nodiscard]] std::uint32_t shared_lap(std::uint32_t page) const noexcept {
    return pages_[page].shared_lap;
  }

  /// Hands out a free page with one reference. Requires free_count() > 0.
  [[nodiscard]] std::uint32_t take(WriterMark writer) noexcept {
    HOLDFAST_ASSERT(free_count_ > 0);
    std::uint32_t const page = free_[--free_count_];
    ++changes_;
    HOLDFAST_ASSERT(page != 0);
    HOLDFAST_ASSERT(pages_[page].references == 0);
    pages_[page] = {.writer = writer, .references = 1, .shared_lap = 0};
    return page;
  }
  void retain(std::uint32_t page) noexcept {
    HOLDFAST_ASSERT(page != 0);
    HOLDFAST_ASSERT(pages_[page].references > 0);
    ++pages_[page].references;
  }
  void release(std::uint32_t page) noexcept {
    HOLDFAST_ASSERT(page != 0);
    HOLDFAST_ASSERT(pages_[page].references > 0);
    if (--pages_[page].references == 0) {
      HOLDFAST_ASSERT(free_count_ + 1 < count_);
      free_[free_count_++] = page;
      ++changes_;
    }
  }
  void set_writer(std::uint32_t page, WriterMark writer) noexcept {
    HOLDFAST_ASSERT(writer != 0);
    HOLDFAST_ASSERT(pages_[page].references == 1);  // nobody else sees what it writes
    pages_[page].writer = writer;
  }
  /// `writer` gives the page up: getting it back through a snapshot does not restore the mark.
  void clear_writer(std::uint32_t page, WriterMark writer) noexcept {
    HOLDFAST_ASSERT(pages_[page].references > 0);
    if (pages_[page].writer == writer && !HOLDFAST_MUTANT(kWriterMarkSurvives)) {
      pages_[page].writer = 0;
    }
  }
  void set_shared_lap(std::uint32_t page, std::uint32_t lap) noexcept {
    HOLDFAST_ASSERT(pages_[page].references > 1);
    pages_[page].shared_lap = lap;
  }
  /// Whether every page has as many references as holders named it, and those that nobody named are free,
  /// once each. O(pages).
  [[nodiscard]] bool audit(base::Tally const& holders) const noexcept {
    base::Tally counted;
    base::Tally unheld;
    for (std::uint32_t page = 0; page < count_; ++page) {
      counted.add(page, pages_[page].references);
      if (page != 0 && pages_[page].references == 0) {
        unheld.add(page);
      }
    }
    base::Tally free;
    for (std::uint32_t const page : free_pages()) {
      free.add(page);
    }
    return counted == holders && free == unheld;
  }

 private:
  struct Page {
    WriterMark writer;
    std::uint32_t references;
    std::uint32_t shared_lap;
  };

  base::FixedArray<Page> pages_;
  base::FixedArray<std::uint32_t> free_;
  std::byte* base_ = nullptr;
  std::uint64_t page_bytes_ = 0;
  std::uint64_t changes_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t free_count_ = 0;
};

}  // namespace holdfast::internal::storage
