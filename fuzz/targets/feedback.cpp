// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets/feedback.hpp"

#include <array>

#include "models/ops/op_list.hpp"

namespace {

// Without the attribute an optimizer drops a table that nobody here reads, and the section with it.
__attribute__((used, section("__libfuzzer_extra_counters")))
std::array<std::uint8_t, holdfast::fuzz::kCounterCount>
    counters;

}  // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): the linker's names
extern std::uint8_t __start___libfuzzer_extra_counters;
extern std::uint8_t __stop___libfuzzer_extra_counters;
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
}

namespace holdfast::fuzz {
namespace {

constexpr std::uint32_t kOpLimit = 64;
static_assert(model::AllOps::kCount <= kOpLimit);

/// Three bits of life: what is open, and all that is no sequence in one.
constexpr std::uint32_t group_of(model::Life life) noexcept {
  auto const index = static_cast<std::uint32_t>(life);
  return index == 0 || index >= static_cast<std::uint32_t>(model::Life::kSnapshot) ? 0
         : index <= static_cast<std::uint32_t>(model::Life::kAppendInPlace)        ? index
         : index == static_cast<std::uint32_t>(model::Life::kRound)                ? 6
                                                                                   : 7;
}

constexpr std::uint32_t index_of(model::Transition const& transition) noexcept {
  model::AbstractState const& from = transition.from;
  std::uint32_t index = group_of(from.life);
  index = index * model::kEdgeCount + static_cast<std::uint32_t>(from.edge);
  index = index * 2 + (from.page_shared || from.slot_shared ? 1 : 0);
  index = index * 2 + (from.others != model::Others::kNone ? 1 : 0);
  return index * kOpLimit + transition.op;
}
static_assert(8 * model::kEdgeCount * 4 * kOpLimit <= kCounterCount);

}  // namespace

void light(model::Transition const& transition) noexcept {
  counters[index_of(transition)] = 1;
}

std::span<std::uint8_t> counter_section() noexcept {
  return {&__start___libfuzzer_extra_counters, &__stop___libfuzzer_extra_counters};
}

}  // namespace holdfast::fuzz
