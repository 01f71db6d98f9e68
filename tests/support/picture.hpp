// SPDX-License-Identifier: Apache-2.0
// Everything that can be seen of a cache on a host device, to show that a call changed nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <vector>

namespace holdfast::test {

/// Numbers in a fixed order, and the bytes of all arenas.
struct Picture {
  std::vector<std::uint64_t> numbers;
  std::vector<std::byte> bytes;
  friend bool operator==(Picture const&, Picture const&) = default;
};

inline void picture_holder(Inspection const& look, Holder holder, Picture& picture) {
  for (std::uint32_t plane = 0; plane < look.plane_count(); ++plane) {
    PlaneState const state = look.state(holder, plane);
    for (std::uint32_t const number : {state.length,
                                       state.sealed,
                                       state.lo,
                                       state.pages,
                                       state.chunks,
                                       state.slot,
                                       state.read_slot}) {
      picture.numbers.push_back(number);
    }
    for (std::uint32_t entry = 0; entry < state.pages; ++entry) {
      picture.numbers.push_back(look.page(holder, plane, entry));
    }
  }
}

inline Picture picture_of(Cache const& cache) {
  Inspection const look = cache.inspect();
  Picture picture;
  for (std::uint32_t index = 0; index < look.sequence_limit(); ++index) {
    SequenceInfo const info = look.sequence(index);
    for (std::uint64_t const number : {std::uint64_t{info.live},
                                       std::uint64_t{info.tainted},
                                       std::uint64_t{info.open},
                                       std::uint64_t{info.generation},
                                       std::uint64_t{info.position},
                                       std::uint64_t{info.open_rows},
                                       info.changes}) {
      picture.numbers.push_back(number);
    }
    picture_holder(look, {HolderKind::kSequence, index}, picture);
  }
  for (std::uint32_t index = 0; index < look.snapshot_limit(); ++index) {
    SnapshotInfo const info = look.snapshot(index);
    for (std::uint32_t const number : {std::uint32_t{info.live}, info.generation, info.position}) {
      picture.numbers.push_back(number);
    }
    picture_holder(look, {HolderKind::kSnapshot, index}, picture);
  }
  for (std::uint32_t plane = 0; plane < look.plane_count(); ++plane) {
    PlaneInfo const info = look.plane(plane);
    picture.numbers.push_back(look.chunks_free(plane));
    for (std::uint32_t page = 0; page < info.pages; ++page) {
      picture.numbers.push_back(look.page_references(plane, page));
      picture.numbers.push_back(look.page_writer(plane, page));
    }
    picture.bytes.insert(picture.bytes.end(), info.base, info.base + info.pages * info.page_bytes);
  }
  return picture;
}

/// Pages and slots that are handed out, over all planes.
inline std::uint64_t used_pages(Cache const& cache) {
  Inspection const look = cache.inspect();
  std::uint64_t used = 0;
  for (std::uint32_t plane = 0; plane < look.plane_count(); ++plane) {
    used += look.plane(plane).pages - 1 - look.pages_free(plane);
  }
  return used;
}

}  // namespace holdfast::test
