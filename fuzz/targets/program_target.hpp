// SPDX-License-Identifier: Apache-2.0
// In what the targets differ whose inputs are programs. Each defines these.
#pragma once

#include <optional>

#include "fuzz/generator.hpp"
#include "fuzz/targets/target.hpp"

namespace holdfast::fuzz {

/// Whether programs run on simulated devices; the seed does not matter.
[[nodiscard]] model::DeviceChoice kind_of_devices();
/// The devices of a program, of that kind; none when it is no input of this target.
[[nodiscard]] std::optional<model::DeviceChoice> devices_of(model::Trace const& program);
/// Makes a program that was made or changed an input of this target.
void settle_devices(model::Trace& program, std::uint64_t seed);
/// What the first inputs are drawn with.
[[nodiscard]] Generator seed_generator(Runner const& runner);

}  // namespace holdfast::fuzz
