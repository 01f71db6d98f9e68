// SPDX-License-Identifier: Apache-2.0
// Draws programs: which operation comes next, from the geometry's mix.
#pragma once

#include <array>
#include <cstdint>

#include "models/geometry/geometry.hpp"
#include "models/ops/op_list.hpp"

namespace holdfast::fuzz {

/// The weights of one geometry.
class Generator {
 public:
  /// Throws InputError when the mix names an unknown operation.
  explicit Generator(model::OperationMix const& mix);
  /// The next operation; its precondition holds on the model.
  [[nodiscard]] model::AnyOp next(model::Source& source, model::Model const& model) const;

 private:
  std::array<std::uint32_t, model::AllOps::kCount> upto_{};  // cumulative weights
  std::uint32_t mean_rows_ = 5;
};

/// Seed of program `index` of a run.
[[nodiscard]] constexpr std::uint64_t program_seed(std::uint64_t seed,
                                                   std::uint64_t index) noexcept {
  return model::mix(seed, index);
}

/// Operations of the program with this seed: 8 to 64, median 24.
[[nodiscard]] std::uint32_t program_length(std::uint64_t seed) noexcept;

}  // namespace holdfast::fuzz
