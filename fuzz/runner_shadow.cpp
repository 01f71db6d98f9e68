// SPDX-License-Identifier: Apache-2.0
// The driver's part in a shadow on CUDA devices.
#include <algorithm>

#include "fuzz/runner.hpp"

namespace holdfast::fuzz {

/// Puts the tape between the library, the engine and their devices, when there is a shadow. Returns
/// where the engine's scratch memory comes from.
Device& Runner::add_shadow(std::vector<Device*>& engine_devices) {
  if (!options_.device.is_cuda) {
    return recorder_;
  }
  auto const count = static_cast<std::uint32_t>(devices_.size());
  shadow_ = std::make_unique<model::Shadow>(
      geometry_.layout,
      model_.shape(),
      count,
      options_.shadow_pool == nullptr ? model::cuda_pool_of_thread() : *options_.shadow_pool);
  for (std::uint32_t i = 0; i < count; ++i) {
    devices_[i] = &shadow_->tape_device(i, *devices_[i]);
  }
  Device& engine = shadow_->tape_engine(recorder_);
  std::fill(engine_devices.begin(), engine_devices.end(), &engine);
  free_.set_on_poison(
      [this](std::byte const* base, std::uint64_t bytes) { shadow_->poison(base, bytes); });
  return engine;
}

/// The CUDA devices must have answered the same, and have the same bytes everywhere.
void Runner::compare_shadow(invariant::Check const& check, model::Observation const& answer) {
  std::string difference = shadow_->error();
  if (difference.empty()) {
    difference = answer == check.got && answer.says == check.got.says
                     ? shadow_->difference(check.inspection)
                     : std::string{model::name_of(*check.op)} + " answered " + text_of(answer) +
                           " on CUDA devices, and " + text_of(check.got) + " on the host";
  }
  if (!difference.empty()) {
    report_.add({.id = "CUDA", .text = std::move(difference)});
  }
}

}  // namespace holdfast::fuzz
