// SPDX-License-Identifier: Apache-2.0
// Draws programs: which operation comes next, from the geometry's mix.
#pragma once

#include <array>
#include <cstdint>

#include "models/geometry/geometry.hpp"
#include "models/ops/op_list.hpp"

namespace holdfast::fuzz {

/// Relative weights by operation, in the order of the list.
using Weights = std::array<std::uint32_t, model::AllOps::kCount>;

/// Draws the operations of programs that share weights and habits.
class Generator {
 public:
  /// The plain mix of a geometry. Throws InputError when it names an unknown operation.
  explicit Generator(model::OperationMix const& mix);
  /// Weights must not all be 0.
  Generator(Weights const& weights, model::Habits const& habits) noexcept;

  /// The next operation; its precondition holds on the model. `last` is what the operation before it
  /// was about; it is brought up to date.
  [[nodiscard]] model::AnyOp next(model::Source& source,
                                  model::Model const& model,
                                  model::LastNames& last) const;
  /// The same after nothing.
  [[nodiscard]] model::AnyOp next(model::Source& source, model::Model const& model) const {
    model::LastNames last;
    return next(source, model, last);
  }
  /// The same, with device calls that fail in between.
  [[nodiscard]] Generator with_faults() const noexcept;
  /// The same, with every fourth call in another stream, and more that takes over what others wrote while it is
  /// under way.
  [[nodiscard]] Generator with_streams() const noexcept;
  [[nodiscard]] Weights const& weights() const noexcept { return weights_; }
  [[nodiscard]] model::Habits const& habits() const noexcept { return habits_; }

 private:
  Weights weights_{};
  Weights upto_{};  // cumulative
  model::Habits habits_;
};

/// The operation that a program can begin with: it makes the first sequence.
[[nodiscard]] model::AnyOp first_op();

/// Seed of program `index` of a run.
[[nodiscard]] constexpr std::uint64_t program_seed(std::uint64_t seed,
                                                   std::uint64_t index) noexcept {
  return model::mix(seed, index);
}

/// Operations of the program with this seed: 8 to 64, median 24.
[[nodiscard]] std::uint32_t program_length(std::uint64_t seed) noexcept;

}  // namespace holdfast::fuzz
