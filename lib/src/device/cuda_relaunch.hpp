// SPDX-License-Identifier: Apache-2.0
// Kernels of one stream that are launched again and again, each through a graph of its own with that one
// kernel in it: to set a few parameters of such a graph and to launch it takes the host about half of
// what a launch takes.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "device/cuda_blocks.cuh"

namespace holdfast::internal::device {

/// One kernel of one stream. Its launches never wait for each other but for the stream's order.
class Relaunch {
 public:
  Relaunch() noexcept = default;
  Relaunch(Relaunch const&) = delete;
  Relaunch& operator=(Relaunch const&) = delete;
  /// No launch may be under way.
  ~Relaunch() {
    static_cast<void>(executable_ == nullptr ? cudaSuccess : cudaGraphExecDestroy(executable_));
    static_cast<void>(graph_ == nullptr ? cudaSuccess : cudaGraphDestroy(graph_));
  }

  /// As launch_blocks(), of the same kernel every time. Returns a cudaError_t.
  template <typename Arguments>
  [[nodiscard]] int launch(void (*kernel)(Arguments),
                           Arguments& arguments,
                           Shape const& shape) noexcept {
    void* pointers[] = {&arguments};
    cudaKernelNodeParams const node{.func = reinterpret_cast<void*>(kernel),
                                    .gridDim = {shape.blocks, 1, 1},
                                    .blockDim = {kBlockThreads, 1, 1},
                                    .sharedMemBytes = 0,
                                    .kernelParams = pointers,
                                    .extra = nullptr};
    cudaError_t error = executable_ == nullptr ? create(node) : cudaSuccess;
    if (error == cudaSuccess) {
      error = cudaGraphExecKernelNodeSetParams(executable_, node_, &node);
    }
    return error == cudaSuccess
               ? cudaGraphLaunch(executable_, static_cast<cudaStream_t>(shape.stream))
               : error;
  }

 private:
  [[nodiscard]] cudaError_t create(cudaKernelNodeParams const& node) noexcept {
    cudaError_t error = graph_ == nullptr ? cudaGraphCreate(&graph_, 0) : cudaSuccess;
    if (error == cudaSuccess && node_ == nullptr) {
      error = cudaGraphAddKernelNode(&node_, graph_, nullptr, 0, &node);
    }
    return error == cudaSuccess ? cudaGraphInstantiate(&executable_, graph_, 0) : error;
  }

  cudaGraph_t graph_ = nullptr;
  cudaGraphNode_t node_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

/// What one stream launches so: the forms of the step kernel, with one block and with more.
using Relaunches = std::array<std::array<Relaunch, 4>, 2>;

}  // namespace holdfast::internal::device
