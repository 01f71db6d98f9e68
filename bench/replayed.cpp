// SPDX-License-Identifier: Apache-2.0
#include "bench/replayed.hpp"

#include <cuda_runtime_api.h>

#include <vector>

#include "bench/timing.hpp"

namespace holdfast::bench {
namespace {

constexpr int kRuns = 50;
constexpr int kMany = 100;

void must_run(cudaError_t error, char const* what) {
  if (error != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
  }
}

std::size_t count_kernels(cudaGraph_t graph) {
  std::size_t count = 0;
  must_run(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  must_run(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  std::size_t kernels = 0;
  for (cudaGraphNode_t const node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    must_run(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    kernels += type == cudaGraphNodeTypeKernel ? 1 : 0;
  }
  return kernels;
}

}  // namespace

GraphTimes measure_graph(CudaDevice& device, std::function<void()> const& enqueue) {
  auto const native = device.native_stream({});
  must(native, "stream");
  auto* const stream = static_cast<cudaStream_t>(*native);
  must_run(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  must_run(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  enqueue();
  cudaGraph_t graph = nullptr;
  must_run(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  must_run(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  GraphTimes times{.kernel_nodes = count_kernels(graph)};
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
  must_run(cudaEventCreate(&start), "cudaEventCreate");
  must_run(cudaEventCreate(&end), "cudaEventCreate");
  auto const elapsed = [&](int launches) {
    must_run(cudaEventRecord(start, stream), "cudaEventRecord");
    for (int i = 0; i < launches; ++i) {
      must_run(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    }
    must_run(cudaEventRecord(end, stream), "cudaEventRecord");
    must_run(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    float milliseconds = 0;
    must_run(cudaEventElapsedTime(&milliseconds, start, end), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e3 / launches;
  };
  std::vector<double> hosts;
  std::vector<double> devices;
  std::vector<double> many;
  for (int i = 0; i < kRuns; ++i) {
    double const before = now();
    must_run(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    hosts.push_back(now() - before);
    must_run(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    devices.push_back(elapsed(1));
    many.push_back(elapsed(kMany));
  }
  times.host = median(hosts);
  times.device = median(devices);
  times.back_to_back = median(many);
  must_run(cudaEventDestroy(start), "cudaEventDestroy");
  must_run(cudaEventDestroy(end), "cudaEventDestroy");
  must_run(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  must_run(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return times;
}

}  // namespace holdfast::bench
