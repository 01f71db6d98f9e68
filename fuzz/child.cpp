// SPDX-License-Identifier: Apache-2.0
#include "fuzz/child.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <system_error>

namespace holdfast::fuzz {
namespace {

void prepare_child() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit const no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  // What a sanitizer or the C library says about a crash is not news to who started the child.
  int const nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDERR_FILENO);
  for (int const signal : {SIGALRM, SIGPIPE, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    std::signal(signal, SIG_DFL);
  }
  // A terminal interrupts all of its processes; the parent says what becomes of this one.
  for (int const signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(signal, SIG_IGN);
  }
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_{std::max<std::size_t>(bytes, 1)},
      base_{mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)} {
  if (base_ == MAP_FAILED) {
    throw std::system_error{errno, std::generic_category(), "shared memory"};
  }
}

SharedMemory::~SharedMemory() {
  munmap(base_, bytes_);
}

pid_t start_child(std::function<int()> const& body) {
  pid_t const child = fork();
  if (child < 0) {
    throw std::system_error{errno, std::generic_category(), "fork"};
  }
  if (child == 0) {
    prepare_child();
    int status = 1;
    try {
      status = body();
    } catch (std::exception const&) {
      status = 1;
    }
    _exit(status);
  }
  return child;
}

void end_child(pid_t child) noexcept {
  kill(child, SIGKILL);
  static_cast<void>(wait_for_child(child));
}

int wait_for_child(pid_t child) noexcept {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace holdfast::fuzz
