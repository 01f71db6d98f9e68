// SPDX-License-Identifier: Apache-2.0
// Programs on simulated devices: work runs later, in an order that the program's seed chooses, and
// device calls fail where the program says so.
#include "fuzz/targets/program_target.hpp"

namespace holdfast::fuzz {

model::DeviceChoice kind_of_devices() {
  return {.is_simulated = true};
}

std::optional<model::DeviceChoice> devices_of(model::Trace const& program) {
  model::DeviceChoice const devices = model::device_from(program.device);
  return devices.is_simulated ? std::optional{devices} : std::nullopt;
}

void settle_devices(model::Trace& program, std::uint64_t seed) {
  // A program that changes keeps its order more often than not: one change at a time.
  constexpr std::uint32_t kNewOrderOneIn = 8;
  model::Source source{seed};
  if (!devices_of(program) || source.one_in(kNewOrderOneIn)) {
    program.device = model::text_of({.is_simulated = true, .seed = source.below(1U << 16U)});
  }
}

Generator seed_generator(Runner const& runner) {
  return runner.generator().with_faults();
}

}  // namespace holdfast::fuzz
