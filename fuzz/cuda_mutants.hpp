// SPDX-License-Identifier: Apache-2.0
// The seeded bugs that only a CUDA device shows. They are tried one by one, where there is one.
#pragma once

#include <span>

namespace holdfast::fuzz {

/// One seeded bug. Its name is that of lib/src/base/cuda_mutants.def.
struct CudaMutantInfo {
  char const* name;
  char const* text;    ///< what the bug is
  char const* killer;  ///< "run": holdfast run --device cuda; else the suite of unit_cuda
};

/// All of them, in the order of cuda_mutants.def.
[[nodiscard]] std::span<CudaMutantInfo const> cuda_mutants() noexcept;

}  // namespace holdfast::fuzz
