// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/workers.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>

namespace holdfast::fuzz {
namespace {

constexpr int kNotStarted = 127;

[[noreturn]] void be_worker(std::vector<std::string> const& words, std::string const& log) {
  setpgid(0, 0);  // an interrupt of the terminal is for the supervisor, who then says what to do
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit const no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (int const signal : {SIGINT, SIGTERM, SIGALRM, SIGPIPE}) {
    std::signal(signal, SIG_DFL);
  }
  constexpr mode_t kMode = 0644;
  int const nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int const out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string const& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execv changes none of them
  }
  argv.push_back(nullptr);
  execv(argv.front(), argv.data());
  dprintf(STDERR_FILENO, "%s: cannot be started: %s\n", argv.front(), std::strerror(errno));
  _exit(kNotStarted);
}

}  // namespace

pid_t start_worker(std::vector<std::string> const& words, std::filesystem::path const& work) {
  std::string const log = (work / "log").string();
  pid_t const process = fork();
  if (process < 0) {
    throw std::system_error{errno, std::generic_category(), "fork"};
  }
  if (process == 0) {
    be_worker(words, log);
  }
  return process;
}

bool read_beat(std::filesystem::path const& work, std::uint64_t& program, std::uint64_t& programs) {
  std::ifstream file{work / "beat", std::ios::binary};
  char bytes[sizeof(Beat)];
  if (!file.read(bytes, sizeof bytes)) {
    return false;
  }
  static_assert(sizeof(Beat) == 2 * sizeof(std::uint64_t));
  std::memcpy(&program, bytes, sizeof program);
  std::memcpy(&programs, bytes + sizeof program, sizeof programs);
  return true;
}

std::string end_of_log(std::filesystem::path const& work) {
  constexpr std::streamoff kMost = 64 * 1024;
  std::ifstream file{work / "log", std::ios::binary | std::ios::ate};
  if (!file) {
    return {};
  }
  std::streamoff const size = file.tellg();
  std::streamoff const from = size > kMost ? size - kMost : 0;
  std::string text(static_cast<std::size_t>(size - from), '\0');
  file.seekg(from);
  file.read(text.data(), size - from);
  return text;
}

std::string death_of(int status) {
  return WIFSIGNALED(status) ? "SIGNAL " + std::to_string(WTERMSIG(status))
                             : "EXIT " + std::to_string(WEXITSTATUS(status));
}

}  // namespace holdfast::fuzz
