// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "tests/unit/cuda/graph_engine.hpp"

namespace holdfast::test {
namespace {

[[nodiscard]] __host__ __device__ SequenceMirror const& record_of(
    AdvanceParameters const& parameters, std::uint32_t row) noexcept {
  return *reinterpret_cast<SequenceMirror const*>(
      reinterpret_cast<std::byte const*>(parameters.records) +
      parameters.row_sequences[row] * parameters.record_bytes);
}

[[nodiscard]] __host__ __device__ float* slot_of(AdvanceParameters const& parameters,
                                                 std::uint32_t slot) noexcept {
  return reinterpret_cast<float*>(parameters.slots + slot * parameters.slot_bytes);
}

/// One element of the state of the sequence that has its first row here.
__host__ __device__ void advance_element(AdvanceParameters const& parameters,
                                         std::uint32_t row,
                                         std::uint32_t element) noexcept {
  SequenceMirror const& record = record_of(parameters, row);
  float value = slot_of(parameters, record.read_slot)[element];
  for (std::uint32_t i = 0; i < record.open; ++i) {
    value = value * 0.5F + parameters.inputs[row + i];
    if (parameters.has_columns != 0) {
      slot_of(parameters, record.write_slot[i])[element] = value;
    }
  }
  if (parameters.has_columns == 0) {
    slot_of(parameters, record.write_slot[0])[element] = value;
  }
}

[[nodiscard]] __host__ __device__ bool begins_item(AdvanceParameters const& parameters,
                                                   std::uint32_t row) noexcept {
  return parameters.row_sequences[row] != 0 && record_of(parameters, row).first_row == row;
}

__global__ void advance(__grid_constant__ AdvanceParameters const parameters) {
  if (begins_item(parameters, blockIdx.x)) {
    for (std::uint32_t i = threadIdx.x; i < parameters.slot_bytes / sizeof(float);
         i += blockDim.x) {
      advance_element(parameters, blockIdx.x, i);
    }
  }
}

void advance_on_host(void const* raw) noexcept {
  auto const& parameters = *static_cast<AdvanceParameters const*>(raw);
  for (std::uint32_t row = 0; row < parameters.rows; ++row) {
    for (std::uint32_t i = 0;
         i < parameters.slot_bytes / sizeof(float) && begins_item(parameters, row);
         ++i) {
      advance_element(parameters, row, i);
    }
  }
}

void declare_nothing(void const* /*raw*/, AccessSink& /*sink*/) noexcept {}

}  // namespace

Kernel const kAdvanceKernel{
    "test.advance", sizeof(AdvanceParameters), &declare_nothing, &advance_on_host};

int launch_advance(void const* raw, CudaQueue const& queue) noexcept {
  AdvanceParameters parameters = *static_cast<AdvanceParameters const*>(raw);
  void* arguments[] = {&parameters};
  return cudaLaunchKernel(reinterpret_cast<void const*>(&advance),
                          dim3{parameters.rows},
                          dim3{64},
                          arguments,
                          0,
                          static_cast<cudaStream_t>(queue.stream));
}

CapturedGraph::~CapturedGraph() {
  if (executable_ != nullptr) {
    static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_)));
  }
}

bool CapturedGraph::begin(void* stream) noexcept {
  return cudaStreamBeginCapture(static_cast<cudaStream_t>(stream),
                                cudaStreamCaptureModeThreadLocal) == cudaSuccess;
}

bool CapturedGraph::end(void* stream) noexcept {
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph) != cudaSuccess) {
    return false;
  }
  bool worked = cudaGraphGetNodes(graph, nullptr, &nodes_) == cudaSuccess;
  std::vector<cudaGraphNode_t> nodes(nodes_);
  worked = worked && cudaGraphGetNodes(graph, nodes.data(), &nodes_) == cudaSuccess;
  for (cudaGraphNode_t const node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    worked = worked && cudaGraphNodeGetType(node, &type) == cudaSuccess;
    kernel_nodes_ += type == cudaGraphNodeTypeKernel ? 1 : 0;
  }
  cudaGraphExec_t executable = nullptr;
  worked = worked && cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess;
  executable_ = executable;
  return cudaGraphDestroy(graph) == cudaSuccess && worked;
}

bool CapturedGraph::launch(void* stream) noexcept {
  return cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_),
                         static_cast<cudaStream_t>(stream)) == cudaSuccess;
}

}  // namespace holdfast::test
