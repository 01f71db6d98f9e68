// SPDX-License-Identifier: Apache-2.0
// Programs on the host, where everything happens at once, or on the devices that were chosen.
#include "fuzz/targets/program_target.hpp"

namespace holdfast::fuzz {

model::DeviceChoice kind_of_devices() {
  return chosen_device();
}

std::optional<model::DeviceChoice> devices_of(model::Trace const& /*program*/) {
  return chosen_device();
}

void settle_devices(model::Trace& program, std::uint64_t /*seed*/) {
  program.device = model::text_of(model::DeviceChoice{});
}

Generator seed_generator(Runner const& runner) {
  return runner.generator();
}

}  // namespace holdfast::fuzz
