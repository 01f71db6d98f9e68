// SPDX-License-Identifier: Apache-2.0
// Chunks: runs of page ids that several holders share. A chunk with more than one reference is
// immutable, and every holder of a chunk uses every page in it. Lives on the host; sized for the
// worst case.
#pragma once

#include <cstdint>
#include <span>

#include "base/contract.hpp"
#include "base/fixed_array.hpp"
#include "base/tally.hpp"

namespace holdfast::internal::storage {

/// Fixed pool of chunks. Never allocates after create.
class ChunkArena {
 public:
  [[nodiscard]] bool create(std::uint32_t count, std::uint32_t chunk_pages) noexcept {
    HOLDFAST_ASSERT(count > 0);
    HOLDFAST_ASSERT(chunk_pages > 0);
    chunk_pages_ = chunk_pages;
    if (!chunks_.create(count) || !free_.create(count) ||
        !pages_.create(std::uint64_t{count} * chunk_pages)) {
      return false;
    }
    for (std::uint32_t chunk = count; chunk-- > 0;) {
      free_[free_count_++] = chunk;
    }
    HOLDFAST_ASSERT(free_count_ == count);
    return true;
  }

  [[nodiscard]] std::uint32_t chunk_pages() const noexcept { return chunk_pages_; }
  [[nodiscard]] std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(chunks_.size());
  }
  [[nodiscard]] std::uint32_t free_count() const noexcept { return free_count_; }
  /// Raised whenever a chunk is handed out or becomes free.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  [[nodiscard]] std::uint32_t references(std::uint32_t chunk) const noexcept {
    return chunks_[chunk].references;
  }
  [[nodiscard]] std::uint32_t used(std::uint32_t chunk) const noexcept {
    return chunks_[chunk].used;
  }
  [[nodiscard]] std::span<std::uint32_t const> pages(std::uint32_t chunk) const noexcept {
    HOLDFAST_VERIFY_THAT(chunks_[chunk].references > 0);
    return pages_.span(std::uint64_t{chunk} * chunk_pages_, chunks_[chunk].used);
  }

  /// Whether the pages are known to follow each other; most do, since pages are taken one after the other.
  [[nodiscard]] bool is_run(std::uint32_t chunk) const noexcept { return chunks_[chunk].is_run; }

  /// Hands out an empty chunk with one reference; the worst-case size makes this always possible.
  [[nodiscard]] std::uint32_t take() noexcept {
    HOLDFAST_ASSERT(free_count_ > 0);
    std::uint32_t const chunk = free_[--free_count_];
    ++changes_;
    HOLDFAST_ASSERT(chunks_[chunk].references == 0);
    chunks_[chunk] = {.references = 1, .used = 0, .is_run = true};
    return chunk;
  }
  void retain(std::uint32_t chunk) noexcept {
    HOLDFAST_ASSERT(chunks_[chunk].references > 0);
    ++chunks_[chunk].references;
  }
  /// Returns true when that was the last reference; the caller has then released its pages.
  [[nodiscard]] bool release(std::uint32_t chunk) noexcept {
    HOLDFAST_ASSERT(chunks_[chunk].references > 0);
    HOLDFAST_ASSERT(free_count_ < count());
    if (--chunks_[chunk].references != 0) {
      return false;
    }
    free_[free_count_++] = chunk;
    ++changes_;
    return true;
  }
  void push(std::uint32_t chunk, std::uint32_t page) noexcept {
    Chunk& known = chunks_[chunk];
    HOLDFAST_ASSERT(page != 0);
    HOLDFAST_ASSERT(known.used < chunk_pages_);
    HOLDFAST_VERIFY_THAT(known.references == 1);
    std::uint64_t const at = std::uint64_t{chunk} * chunk_pages_ + known.used;
    known.is_run = known.is_run && (known.used == 0 || pages_[at - 1] + 1 == page);
    pages_[at] = page;
    ++known.used;
  }
  /// Requires a page in the chunk.
  [[nodiscard]] std::uint32_t pop(std::uint32_t chunk) noexcept {
    HOLDFAST_ASSERT(chunks_[chunk].used > 0);
    HOLDFAST_VERIFY_THAT(chunks_[chunk].references == 1);
    return pages_[std::uint64_t{chunk} * chunk_pages_ + --chunks_[chunk].used];
  }
  void replace(std::uint32_t chunk, std::uint32_t entry, std::uint32_t page) noexcept {
    HOLDFAST_ASSERT(page != 0);
    HOLDFAST_ASSERT(entry < chunks_[chunk].used);
    HOLDFAST_VERIFY_THAT(chunks_[chunk].references == 1);
    pages_[std::uint64_t{chunk} * chunk_pages_ + entry] = page;
    chunks_[chunk].is_run = false;
  }
  /// Whether every chunk has as many references as holders named it, those that nobody named are free, once
  /// each, and what a chunk says of its pages is so. Adds the pages of live chunks to `pages`. O(chunks).
  [[nodiscard]] bool audit(base::Tally const& holders, base::Tally& pages) const noexcept {
    base::Tally counted;
    base::Tally unheld;
    bool is_sound = true;
    for (std::uint32_t chunk = 0; chunk < count(); ++chunk) {
      counted.add(chunk, references(chunk));
      if (references(chunk) == 0) {
        unheld.add(chunk);
        continue;
      }
      is_sound = is_sound && used(chunk) != 0 && used(chunk) <= chunk_pages_;
      std::uint32_t last = 0;
      for (std::uint32_t const page : this->pages(chunk)) {
        is_sound = is_sound && page != 0 && (!is_run(chunk) || last == 0 || page == last + 1);
        pages.add(page);
        last = page;
      }
    }
    base::Tally free;
    for (std::uint32_t const chunk : free_.span(0, free_count_)) {
      free.add(chunk);
    }
    return is_sound && counted == holders && free == unheld;
  }

 private:
  struct Chunk {
    std::uint32_t references;
    std::uint32_t used;
    bool is_run;
  };

  base::FixedArray<Chunk> chunks_;
  base::FixedArray<std::uint32_t> free_;
  base::FixedArray<std::uint32_t> pages_;
  std::uint64_t changes_ = 0;
  std::uint32_t chunk_pages_ = 0;
  std::uint32_t free_count_ = 0;
};

}  // namespace holdfast::internal::storage
