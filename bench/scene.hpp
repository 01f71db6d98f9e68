// SPDX-License-Identifier: Apache-2.0
// A cache on a CUDA device that counts what is asked of it, with rows to append.
#pragma once

#include <algorithm>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <holdfast/cuda.hpp>
#include <utility>
#include <vector>

#include "bench/counting_device.hpp"
#include "bench/timing.hpp"

namespace holdfast::bench {

inline constexpr std::uint32_t kPiece = 4096;  ///< rows of an append

template <typename T>
T taken(Result<T> result, char const* what) {
  must(result, what);
  return std::move(*result);
}

/// A cache on a device that counts, with rows to append.
class Scene {
 public:
  Scene(CudaDevice& device, Layout const& layout)
      : device_{device},
        counting_{device},
        cache_{taken(Cache::create(layout, counting_), "cache")},
        layout_{layout} {
    Inspection const look = cache_.inspect();
    std::uint64_t widest = 1;
    for (std::uint32_t plane = 0; plane < look.plane_count(); ++plane) {
      PlaneInfo const info = look.plane(plane);
      first_plane_ = first_plane_ == nullptr ? info.base : std::min(first_plane_, info.base);
      if (is_written(info)) {
        widest = std::max(widest, info.layers.size() * info.row_elements * sizeof(float));
      }
    }
    // As many rows as pass the chip's own memory, so that sources come from outside of it.
    source_bytes_ = std::max(kSourceBytes, widest * kPiece);
    source_ = taken(device.allocate(source_bytes_, MemoryKind::kDevice), "rows");
    FillSegment const fill{source_.base, source_bytes_, std::byte{0x3c}};
    must(device.fill({&fill, 1}, {}), "rows");
  }
  Scene(Scene const&) = delete;
  Scene& operator=(Scene const&) = delete;
  ~Scene() { device_.free(source_); }

  [[nodiscard]] Cache& cache() noexcept { return cache_; }
  [[nodiscard]] Inspection look() const noexcept { return cache_.inspect(); }
  [[nodiscard]] CountingDevice& counting() noexcept { return counting_; }
  void wait() { must(device_.synchronize({}), "synchronize"); }

  /// Planes whose rows an engine writes.
  [[nodiscard]] static bool is_written(PlaneInfo const& info) {
    return info.page_rows != 0 && info.unit_tokens == 1 && rule_of(info.kind) != PlaneRule::kDraft;
  }
  template <typename Visit>
  void for_each_written(Visit visit) const {
    for (std::uint32_t plane = 0; plane < look().plane_count(); ++plane) {
      PlaneInfo const info = look().plane(plane);
      for (std::uint32_t const layer : info.layers) {
        if (is_written(info)) {
          visit(info, layer);
        }
      }
    }
  }
  /// Says that an engine's kernels write all rows of all items. Indexer rows are written, so that their
  /// keys are built meanwhile and not at the end.
  void touch(Step& step, std::uint32_t items, std::uint32_t rows) {
    for (std::uint32_t plane = 0; plane < look().plane_count(); ++plane) {
      PlaneInfo const info = look().plane(plane);
      auto const layers = static_cast<std::uint32_t>(info.layers.size());
      if (is_written(info) && info.ring_rows != 0) {
        float const* const source = next_source(info, layers * items * rows);
        must(step.write_all(info.kind, info.layers[0], layers, source), "write_all");
      }
    }
    for (std::uint32_t item = 0; item < items; ++item) {
      for_each_written([&](PlaneInfo const& info, std::uint32_t layer) {
        if (info.ring_rows == 0) {
          must(step.rows(item, info.kind, layer, rows), "rows");
        }
      });
      for (StateInfo const& state : look().states()) {
        if (state.kind == PlaneKind::kHeld) {
          must(step.held(item, state.layer, rows), "held");
        } else {
          must(step.state(item, state.layer, rows), "state");
        }
      }
    }
  }
  template <typename Handle>
  void touch_states(Handle& handle, std::uint32_t rows) {
    for (StateInfo const& state : look().states()) {
      if (state.kind == PlaneKind::kHeld) {
        must(handle.held(state.layer, rows), "held");
      } else {
        must(handle.state(state.layer, rows), "state");
      }
    }
  }
  /// Appends through the library's row kernels.
  void append(Sequence& sequence, std::uint32_t rows) {
    while (rows != 0) {
      std::uint32_t const piece = std::min(rows, kPiece);
      Append open = taken(sequence.append(piece), "append");
      write(open, piece);
      touch_states(open, UINT32_MAX);
      must(open.commit(), "commit");
      rows -= piece;
    }
  }
  void write(Append& open, std::uint32_t rows) {
    for_each_written([&](PlaneInfo const& info, std::uint32_t layer) {
      must(open.write(info.kind, layer, next_source(info, rows), rows), "write");
    });
  }
  /// Rows of all items, by one launch.
  void write_all(Step& step, std::uint32_t rows) {
    std::vector<PlaneRows> classes;
    for (std::uint32_t plane = 0; plane < look().plane_count(); ++plane) {
      PlaneInfo const info = look().plane(plane);
      auto const layers = static_cast<std::uint32_t>(info.layers.size());
      if (is_written(info)) {
        classes.push_back({.plane = info.kind,
                           .layer = info.layers[0],
                           .layers = layers,
                           .source = next_source(info, layers * rows)});
      }
    }
    must(step.write_all(classes), "write_all");
  }
  /// Bytes that one write() of all planes reads and writes.
  [[nodiscard]] std::uint64_t bytes_of_write(std::uint32_t rows) const {
    std::uint64_t bytes = 0;
    for_each_written([&](PlaneInfo const& info, std::uint32_t /*layer*/) {
      std::uint64_t const kept = info.ring_rows == 0 ? rows : std::min(rows, info.ring_rows);
      bytes +=
          std::uint64_t{rows} * info.row_elements * sizeof(float) + kept * info.strips.row_bytes();
    });
    for (std::uint32_t plane = 0; plane < look().plane_count(); ++plane) {
      PlaneInfo const info = look().plane(plane);
      if (info.unit_tokens > 1) {
        bytes +=
            info.layers.size() * std::uint64_t{rows / info.unit_tokens} * info.strips.row_bytes();
      }
    }
    return bytes;
  }
  /// What `run` asks of the device.
  template <typename Run>
  DeviceCounts count(Run run) {
    counting_.set_planes(first_plane_);
    counting_.clear();
    run();
    counting_.set_planes(nullptr);
    return counting_.counts();
  }

 private:
  static constexpr std::uint64_t kSourceBytes = std::uint64_t{1} << 30U;

  float const* next_source(PlaneInfo const& info, std::uint32_t rows) {
    std::uint64_t const bytes = std::uint64_t{rows} * info.row_elements * sizeof(float);
    if (source_at_ + bytes > source_bytes_) {
      source_at_ = 0;
    }
    auto const* const source = reinterpret_cast<float const*>(source_.base + source_at_);
    source_at_ += (bytes + 255) / 256 * 256;
    return source;
  }

  CudaDevice& device_;
  CountingDevice counting_;
  Cache cache_;
  Layout layout_;
  std::byte const* first_plane_ = nullptr;
  Memory source_;
  std::uint64_t source_bytes_ = 0;
  std::uint64_t source_at_ = 0;
};

}  // namespace holdfast::bench
