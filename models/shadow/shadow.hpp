// SPDX-License-Identifier: Apache-2.0
// A second cache, on CUDA devices, that does what the cache under test does on the host and must
// then have the same bytes: all of its device memory, not only what somebody can see.
//
// The library's own kernels run on the device. What the engine's kernels write comes from the tape
// of the host's run. So every table, record, copied page, converted row and pool key is the
// device's own work, from the same rows.
#pragma once

#include <functional>
#include <holdfast/cuda.hpp>
#include <memory>
#include <string>
#include <vector>

#include "models/engine/holdfast_system.hpp"
#include "models/ops/op_list.hpp"
#include "models/shadow/tape.hpp"

namespace holdfast::model {

class ShadowDevice;

/// Devices of shadows and memory that they gave back: opening and allocating take longer than a
/// program. One thread at a time.
class ShadowPool {
 public:
  struct One {
    std::unique_ptr<Device> device;
    std::vector<Memory> spare;
  };

  /// `open` makes a device when it is first needed; it may throw.
  explicit ShadowPool(std::function<std::unique_ptr<Device>(std::uint32_t index)> open)
      : open_{std::move(open)} {}
  ShadowPool(ShadowPool const&) = delete;
  ShadowPool& operator=(ShadowPool const&) = delete;
  ~ShadowPool();
  [[nodiscard]] One& at(std::uint32_t index);

 private:
  std::function<std::unique_ptr<Device>(std::uint32_t)> open_;
  std::vector<One> devices_;
};

/// CUDA devices; where there are fewer than are asked for, they take turns. Throws
/// std::runtime_error when there is none.
[[nodiscard]] ShadowPool& cuda_pool_of_thread();

/// The shadow of the caches of one geometry, one program after the other.
class Shadow {
 public:
  /// Takes a device of the pool for each of the cache's devices. The pool must outlive the shadow.
  Shadow(Layout const& layout, ModelShape const& shape, std::uint32_t devices, ShadowPool& pool);
  ~Shadow();
  Shadow(Shadow const&) = delete;
  Shadow& operator=(Shadow const&) = delete;

  /// Devices for the cache under test and its engine, which work on the given ones.
  [[nodiscard]] Device& tape_device(std::uint32_t index, Device& inner);
  [[nodiscard]] Device& tape_engine(Device& inner);

  /// Begins a program: the cache under test was just created.
  void start(Model const& model);
  /// Does what the cache under test has just done. Its answer must be the same.
  [[nodiscard]] Observation run(AnyOp const& op);
  /// What a device said when it failed; empty when none did.
  [[nodiscard]] std::string error() const;
  /// Waits for the devices and compares. Says the first byte that differs; empty when none does.
  [[nodiscard]] std::string difference(Inspection const& inspection);
  /// Memory of the cache under test was filled with the poison byte.
  void poison(std::byte const* base, std::uint64_t bytes);
  /// Ends a program, before the cache under test is destroyed.
  void end();

 private:
  void settle();

  Layout layout_;
  std::uint32_t device_count_;
  Tape tape_;
  Ledger host_;  // the last device of a ledger is the engine's scratch memory
  Ledger own_;
  std::vector<std::unique_ptr<TapedDevice>> taped_;
  std::vector<std::unique_ptr<ShadowDevice>> devices_;
  std::unique_ptr<ShadowDevice> scratch_;
  std::unique_ptr<ToyEngine> engine_;
  std::unique_ptr<HoldfastSystem> system_;
  std::vector<std::byte> bytes_;
};

}  // namespace holdfast::model
