// SPDX-License-Identifier: Apache-2.0
// Child processes for work that may crash or hang, and memory that they share with their parent.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>

namespace holdfast::fuzz {

/// Memory of zeros that children share with the process that made it. Throws std::system_error.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory const&) = delete;
  SharedMemory& operator=(SharedMemory const&) = delete;

  [[nodiscard]] void* base() const noexcept { return base_; }

 private:
  std::size_t bytes_;
  void* base_;
};

/// Starts a process that ends with what `body` returns, or 1 when it throws. It dies with its
/// parent, leaves no core file, says nothing on standard error, ignores interrupts, and has other
/// signals as they are by default. The calling process must have one thread. Throws std::system_error.
pid_t start_child(std::function<int()> const& body);

/// Kills a child, and waits until it is gone.
void end_child(pid_t child) noexcept;

/// Waits for a child; its status as of waitpid().
int wait_for_child(pid_t child) noexcept;

}  // namespace holdfast::fuzz
