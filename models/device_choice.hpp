// SPDX-License-Identifier: Apache-2.0
// Which devices a program runs on.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::model {

/// The host device, or simulated devices whose work runs in an order that a seed chooses.
struct DeviceChoice {
  bool is_simulated = false;
  std::uint64_t seed = 0;  ///< of simulated devices
};

/// "host", "sim 77".
[[nodiscard]] std::string text_of(DeviceChoice const& device);
/// Throws InputError.
[[nodiscard]] DeviceChoice device_from(std::string const& text);

}  // namespace holdfast::model
