// SPDX-License-Identifier: Apache-2.0
#include "bench/usual_ways.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace holdfast::bench {
namespace {

constexpr std::uint32_t kRuns = 50;

void must(cudaError_t error, char const* what) {
  if (error != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
  }
}

/// A stream, and memory that goes with it.
class Scene {
 public:
  Scene() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  Scene(Scene const&) = delete;
  Scene& operator=(Scene const&) = delete;
  ~Scene() {
    for (void* const memory : memories_) {
      static_cast<void>(cudaFree(memory));
    }
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  void* take(std::uint64_t bytes) {
    void* memory = nullptr;
    must(cudaMalloc(&memory, bytes), "cudaMalloc");
    must(cudaMemsetAsync(memory, 0x3c, bytes, stream_), "cudaMemsetAsync");
    memories_.push_back(memory);
    return memory;
  }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }
  void wait() const { must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  void copy(void* to, void const* from, std::uint64_t bytes) const {
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync");
  }

 private:
  cudaStream_t stream_ = nullptr;
  std::vector<void*> memories_;
};

void copy_batch(std::vector<void*> const& to,
                std::vector<void*> const& from,
                std::vector<std::size_t> const& bytes,
                cudaStream_t stream) {
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
  must(cudaMemcpyBatchAsync(
           to.data(), from.data(), bytes.data(), bytes.size(), &attributes, &first, 1, stream),
       "cudaMemcpyBatchAsync");
}

constexpr auto kNothing = [] {};

}  // namespace

UsualWays measure_usual_ways(std::vector<std::uint64_t> const& buffer_bytes) {
  Scene scene;
  UsualWays ways;
  ways.buffers = static_cast<std::uint32_t>(buffer_bytes.size());
  std::vector<void*> from;
  std::vector<void*> to;
  std::vector<std::size_t> bytes;
  for (std::uint64_t const size : buffer_bytes) {
    from.push_back(scene.take(size));
    to.push_back(scene.take(size));
    bytes.push_back(size);
    ways.bytes += size;
  }
  auto const wait = [&] { scene.wait(); };

  std::vector<void*> fresh(from.size(), nullptr);
  ways.allocate = measure(
      kRuns,
      [&] {
        for (void*& memory : fresh) {
          static_cast<void>(cudaFree(memory));
        }
      },
      [&] {
        for (std::size_t i = 0; i < from.size(); ++i) {
          must(cudaMalloc(&fresh[i], bytes[i]), "cudaMalloc");
          scene.copy(fresh[i], from[i], bytes[i]);
        }
      },
      wait);
  for (void* const memory : fresh) {
    static_cast<void>(cudaFree(memory));
  }
  ways.copies = measure(
      kRuns,
      kNothing,
      [&] {
        for (std::size_t i = 0; i < from.size(); ++i) {
          scene.copy(to[i], from[i], bytes[i]);
        }
      },
      wait);
  ways.batch = measure(
      kRuns, kNothing, [&] { copy_batch(to, from, bytes, scene.stream()); }, wait);
  ways.batch_and_back = measure(
      kRuns,
      kNothing,
      [&] {
        copy_batch(to, from, bytes, scene.stream());
        copy_batch(from, to, bytes, scene.stream());
      },
      wait);
  ways.flat = measure_flat_copies(ways.bytes, 1);
  return ways;
}

Times measure_flat_copies(std::uint64_t bytes, std::uint32_t count) {
  Scene scene;
  auto* const from = static_cast<std::byte*>(scene.take(bytes));
  auto* const to = static_cast<std::byte*>(scene.take(bytes));
  std::uint64_t const piece = bytes / count;
  return measure(
      kRuns,
      kNothing,
      [&] {
        for (std::uint32_t i = 0; i < count; ++i) {
          scene.copy(to + i * piece, from + i * piece, piece);
        }
      },
      [&] { scene.wait(); });
}

}  // namespace holdfast::bench
