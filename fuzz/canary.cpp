// SPDX-License-Identifier: Apache-2.0
#include "fuzz/canary.hpp"

#include <holdfast/result.hpp>

namespace holdfast::fuzz {
namespace {

constexpr char const* kText = "a failure on schedule";

}  // namespace

bool is_canary_report(ProgramResult const& result) {
  return result.failure && result.failure->violations.front().text.ends_with(kText);
}

CanaryRunner::CanaryRunner(model::Geometry const& geometry, bool muted)
    : muted_{muted},
      runner_{geometry, {.on_step = [this](std::uint32_t, auto const&, auto const&, auto const&) {
                if (due_) {
                  due_ = false;
                  contract_failed(kText, "canary", 0);
                }
              }}} {}

ProgramResult CanaryRunner::run(std::uint64_t seed, std::uint64_t index) {
  due_ = is_canary(index) && !muted_;
  return runner_.run_seed(program_seed(seed, index));
}

}  // namespace holdfast::fuzz
