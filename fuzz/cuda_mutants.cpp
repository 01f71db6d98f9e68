// SPDX-License-Identifier: Apache-2.0
#include "fuzz/cuda_mutants.hpp"

namespace holdfast::fuzz {
namespace {

constexpr CudaMutantInfo kCudaMutants[] = {
    {"cuda_tail_lost", "a page copy leaves out what 16 bytes do not divide", "run"},
    {"cuda_entry_stale", "the last table entry of a launch is not written", "run"},
    {"cuda_length_stale", "a record keeps its length", "run"},
    {"cuda_slot_stale",
     "a record keeps its slots, so that a replayed graph works on old ones",
     "run"},
    {"cuda_last_run_lost", "the rows of a step's last item are not mapped", "run"},
    {"cuda_wrong_page", "the last row of an append goes where the first one goes", "run"},
    {"cuda_rounded_down", "bf16 rows are cut instead of rounded", "run"},
    {"cuda_key_across_lap", "the first key is built after the ring's next lap", "run"},
    {"cuda_wild_write", "a kernel writes where no memory is, which ends the context", "run"},
    {"cuda_below_arena", "a kernel writes one word below the device's memory", "run"},
    {"cuda_wrong_stream", "kernels are launched in another stream", "CudaOrderMutants"},
    {"cuda_wait_lost", "a stream does not wait for another one's event", "CudaOrderMutants"},
    {"cuda_bounce_reused",
     "a bounce buffer is written again while the device reads it",
     "CudaOrderMutants"},
    {"cuda_foreign_graph", "a graph is replayed in a step of another shape", "CudaGraphMutants"},
};

}  // namespace

std::span<CudaMutantInfo const> cuda_mutants() noexcept {
  return kCudaMutants;
}

}  // namespace holdfast::fuzz
