// SPDX-License-Identifier: Apache-2.0
// Which devices a program runs on.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::model {

/// The host device; simulated devices whose work runs in an order that a seed chooses; or the host
/// device with a shadow on CUDA devices.
struct DeviceChoice {
  bool is_simulated = false;
  bool is_cuda = false;
  std::uint64_t seed = 0;  ///< of simulated devices
};

/// "host", "sim 77", "cuda".
[[nodiscard]] std::string text_of(DeviceChoice const& device);
/// Throws InputError.
[[nodiscard]] DeviceChoice device_from(std::string const& text);

}  // namespace holdfast::model
