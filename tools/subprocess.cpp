// SPDX-License-Identifier: Apache-2.0
#include "tools/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

namespace holdfast::tools {
namespace {

constexpr int kNotStarted = 127;

[[noreturn]] void fail(char const* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      fail("pipe");
    }
  }
};

[[noreturn]] void be_program(std::vector<std::string> const& words,
                             Pipe const& out,
                             Pipe const& err) {
  std::vector<char*> argv;
  for (std::string const& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execvp changes none of them
  }
  argv.push_back(nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int const nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(out.ends[1], STDOUT_FILENO);
  dup2(err.ends[1], STDERR_FILENO);
  execvp(argv.front(), argv.data());
  _exit(kNotStarted);
}

/// Appends what there is; false at its end.
bool take(int file, std::string& text) {
  char buffer[4096];
  ssize_t const got = read(file, buffer, sizeof buffer);
  if (got > 0) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return got > 0 || (got < 0 && errno == EINTR);
}

void listen(Pipe const& out, Pipe const& err, Captured& captured) {
  std::array<pollfd, 2> ready = {pollfd{.fd = out.ends[0], .events = POLLIN, .revents = 0},
                                 pollfd{.fd = err.ends[0], .events = POLLIN, .revents = 0}};
  while (ready[0].fd >= 0 || ready[1].fd >= 0) {
    if (poll(ready.data(), ready.size(), -1) < 0) {
      continue;
    }
    for (pollfd& one : ready) {
      std::string& text = &one == ready.data() ? captured.out : captured.err;
      if (one.fd >= 0 && one.revents != 0 && !take(one.fd, text)) {
        close(one.fd);
        one.fd = -1;
      }
    }
  }
}

}  // namespace

Captured run_program(std::vector<std::string> const& words) {
  Pipe const out;
  Pipe const err;
  pid_t const process = fork();
  if (process < 0) {
    fail("fork");
  }
  if (process == 0) {
    be_program(words, out, err);
  }
  close(out.ends[1]);
  close(err.ends[1]);
  Captured captured;
  listen(out, err, captured);
  while (waitpid(process, &captured.status, 0) < 0 && errno == EINTR) {
  }
  return captured;
}

std::optional<std::string> output_of(std::vector<std::string> const& words) {
  Captured captured = run_program(words);
  bool const is_well = WIFEXITED(captured.status) && WEXITSTATUS(captured.status) == 0;
  return is_well ? std::optional{std::move(captured.out)} : std::nullopt;
}

std::string beside(std::string const& name) {
  std::error_code error;
  std::filesystem::path const self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / name).string();
}

std::optional<std::string> commit_here() {
  std::optional<std::string> commit = output_of({"git", "rev-parse", "--verify", "-q", "HEAD"});
  while (commit && !commit->empty() && commit->back() == '\n') {
    commit->pop_back();
  }
  return commit && !commit->empty() ? commit : std::nullopt;
}

}  // namespace holdfast::tools
