// SPDX-License-Identifier: Apache-2.0
// What an engine adds to a captured step: a kernel of its own over the states of all items, and CUDA
// graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <holdfast/cuda.hpp>

namespace holdfast::test {

/// Advances the states of all sequences of a step by one number a row: every element of a slot becomes
/// half of itself and that number. All addresses are fixed.
struct AdvanceParameters {
  std::byte* slots;                    // device
  SequenceMirror const* records;       // device, that of sequence 0
  std::uint32_t const* row_sequences;  // device [rows]
  float const* inputs;                 // device [rows]
  std::uint64_t slot_bytes;
  std::uint64_t record_bytes;
  std::uint32_t rows;
  std::uint32_t has_columns;  // a state after every row, else after the last one
};

extern Kernel const kAdvanceKernel;
[[nodiscard]] int launch_advance(void const* parameters, CudaQueue const& queue) noexcept;

/// A CUDA graph of one stream. Every call returns whether it worked.
class CapturedGraph {
 public:
  CapturedGraph() noexcept = default;
  CapturedGraph(CapturedGraph const&) = delete;
  CapturedGraph& operator=(CapturedGraph const&) = delete;
  ~CapturedGraph();
  [[nodiscard]] bool begin(void* stream) noexcept;
  [[nodiscard]] bool end(void* stream) noexcept;
  [[nodiscard]] bool launch(void* stream) noexcept;
  /// Nodes that launch kernels, and all nodes.
  [[nodiscard]] std::size_t kernel_nodes() const noexcept { return kernel_nodes_; }
  [[nodiscard]] std::size_t nodes() const noexcept { return nodes_; }

 private:
  void* executable_ = nullptr;  // cudaGraphExec_t
  std::size_t nodes_ = 0;
  std::size_t kernel_nodes_ = 0;
};

}  // namespace holdfast::test
