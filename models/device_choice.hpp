// SPDX-License-Identifier: Apache-2.0
// What runs a program: the library on some devices, or another system.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::model {

struct SystemInfo;

/// The library on the host device; on simulated devices whose work runs in an order that a seed chooses; or
/// on the host device with a shadow on CUDA devices. Another system has no devices that we know.
struct DeviceChoice {
  SystemInfo const* system = nullptr;  ///< nullptr: the library
  bool is_simulated = false;
  bool is_cuda = false;
  std::uint64_t seed = 0;  ///< of simulated devices
};

/// "host", "sim 77", "cuda", or the name of another system.
[[nodiscard]] std::string text_of(DeviceChoice const& device);
/// Throws InputError.
[[nodiscard]] DeviceChoice device_from(std::string const& text);

}  // namespace holdfast::model
