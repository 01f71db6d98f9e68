// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/engine_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "fuzz/clock.hpp"
#include "models/input_error.hpp"

namespace holdfast::fuzz {
namespace {

constexpr std::size_t kMostLine = std::size_t{1} << 20U;
constexpr std::size_t kErrorsKept = std::size_t{16} << 10U;

struct Pipe {
  int ends[2] = {-1, -1};

  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) {
      throw std::system_error{errno, std::generic_category(), "pipe"};
    }
  }
};

void close_fd(int& fd) {
  if (fd >= 0) {
    close(fd);
  }
  fd = -1;
}

/// In the child: only calls that are safe after fork() in a process of several threads.
[[noreturn]] void run_command(
    char* const* arguments, int in, int out, int errors, std::uint64_t memory, int failed) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  rlimit const no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (memory != 0) {
    rlimit const most{memory, memory};
    setrlimit(RLIMIT_AS, &most);
  }
  for (int const signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGXFSZ}) {
    std::signal(signal, SIG_DFL);
  }
  execvp(arguments[0], arguments);
  int const code = errno;
  if (write(failed, &code, sizeof(code)) < 0) {
    _exit(126);
  }
  _exit(127);
}

bool speaks_of_memory(std::string const& text) {
  constexpr std::array<char const*, 6> kWords = {"bad_alloc",
                                                 "MemoryError",
                                                 "out of memory",
                                                 "Out of memory",
                                                 "annot allocate",
                                                 "failed to allocate"};
  return std::any_of(kWords.begin(), kWords.end(), [&](char const* word) {
    return text.find(word) != std::string::npos;
  });
}

}  // namespace

EngineProcess::EngineProcess(std::vector<std::string> const& command, ProcessLimits limits)
    : limits_{limits} {
  start(command);
}

EngineProcess::~EngineProcess() {
  static_cast<void>(kill_group());
}

void EngineProcess::start(std::vector<std::string> const& command) {
  std::vector<char*> arguments;
  for (std::string const& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // execvp() changes nothing
  }
  arguments.push_back(nullptr);
  Pipe in;
  Pipe out;
  Pipe errors;
  Pipe failed;
  pid_ = fork();
  if (pid_ == 0) {
    run_command(
        arguments.data(), in.ends[0], out.ends[1], errors.ends[1], limits_.memory, failed.ends[1]);
  }
  for (int* const fd : {&in.ends[0], &out.ends[1], &errors.ends[1], &failed.ends[1]}) {
    close_fd(*fd);
  }
  in_ = in.ends[1];
  out_ = out.ends[0];
  errors_ = errors.ends[0];
  if (pid_ < 0) {
    close_fd(failed.ends[0]);
    throw std::system_error{errno, std::generic_category(), "fork"};
  }
  setpgid(pid_, pid_);
  for (int const fd : {in_, out_, errors_}) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  int code = 0;
  ssize_t got = 0;
  do {
    got = read(failed.ends[0], &code, sizeof(code));
  } while (got < 0 && errno == EINTR);
  close_fd(failed.ends[0]);
  if (got == static_cast<ssize_t>(sizeof(code))) {
    static_cast<void>(kill_group());
    throw model::InputError("cannot run " + model::quoted(command.front()) + ": " +
                            std::generic_category().message(code));
  }
}

int EngineProcess::kill_group() {
  int status = 0;
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    if (!status_) {
      kill(pid_, SIGKILL);
      while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
      }
    }
    read_errors();
  }
  pid_ = -1;
  for (int* const fd : {&in_, &out_, &errors_}) {
    close_fd(*fd);
  }
  return status;
}

Trouble EngineProcess::end(Ending ending, std::string const& text) {
  static_cast<void>(kill_group());
  return {ending, text + last_words()};
}

/// Whether the process is dead. What it started may live on, and hold its output open.
bool EngineProcess::is_gone() {
  int status = 0;
  if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = status;
  }
  return status_.has_value();
}

/// Its output ended: it is dead, or as good as that.
Trouble EngineProcess::died() {
  constexpr int kGrace = 50;
  for (int i = 0; i < kGrace && !is_gone(); ++i) {
    poll(nullptr, 0, 10);
  }
  std::string const half = taken_ < output_.size() ? ", in the middle of a line: " +
                                                         model::quoted(output_.substr(taken_, 80))
                                                   : "";
  if (!is_gone()) {
    return end(Ending::kCrash, "the adapter closed its output" + half);
  }
  int const status = *status_;
  kill(-pid_, SIGKILL);  // what it started
  read_errors();
  pid_ = -1;
  static_cast<void>(kill_group());
  std::string const how = WIFSIGNALED(status)
                              ? "died of signal " + std::to_string(WTERMSIG(status)) + " (" +
                                    strsignal(WTERMSIG(status)) + ")"
                              : "ended with status " + std::to_string(WEXITSTATUS(status));
  bool const memory = speaks_of_memory(first_errors_) || speaks_of_memory(last_errors_);
  return {memory ? Ending::kMemory : Ending::kCrash,
          "the engine " + how + (memory ? ", and spoke of memory" : "") + half + last_words()};
}

/// The end of what it wrote on standard error.
std::string EngineProcess::last_words() const {
  constexpr std::size_t kMost = 400;
  std::string_view text = last_errors_.empty() ? first_errors_ : last_errors_;
  while (!text.empty() && text.back() == '\n') {
    text.remove_suffix(1);
  }
  text.remove_prefix(text.size() - std::min(text.size(), kMost));
  std::string line{text};
  for (std::size_t at = line.find('\n'); at != std::string::npos; at = line.find('\n')) {
    line.replace(at, 1, " / ");
  }
  return line.empty() ? "" : "; it said: " + line;
}

void EngineProcess::read_errors() {
  std::array<char, 4096> buffer;
  for (ssize_t got = 1; errors_ >= 0 && got > 0;) {
    got = read(errors_, buffer.data(), buffer.size());
    std::string_view text{buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    std::size_t const to_first = std::min(text.size(), kErrorsKept - first_errors_.size());
    first_errors_ += text.substr(0, to_first);
    last_errors_ += text.substr(to_first);
    if (last_errors_.size() > 2 * kErrorsKept) {
      last_errors_.erase(0, last_errors_.size() - kErrorsKept);
    }
  }
}

std::string EngineProcess::said() const {
  return last_errors_.empty() ? first_errors_ : first_errors_ + "\n[...]\n" + last_errors_;
}

/// False when there will be no more.
bool EngineProcess::read_output() {
  std::array<char, std::size_t{1} << 16U> buffer;
  for (;;) {
    ssize_t const got = read(out_, buffer.data(), buffer.size());
    if (got > 0) {
      output_.append(buffer.data(), static_cast<std::size_t>(got));
      return true;
    }
    if (got == 0) {
      return false;
    }
    if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
}

EngineProcess::Step EngineProcess::wait_for_output(std::string_view& to_send, double seconds) {
  std::array<pollfd, 3> fds = {{{out_, POLLIN, 0}, {errors_, POLLIN, 0}, {in_, POLLOUT, 0}}};
  constexpr int kLook = 50;  // milliseconds after which a silent process is looked at
  int const wait = std::clamp(static_cast<int>(seconds * 1000), 1, kLook);
  if (seconds <= 0) {
    return Step::kTimedOut;
  }
  int const ready = poll(fds.data(), to_send.empty() ? 2 : 3, wait);
  if (ready == 0 && is_gone()) {
    static_cast<void>(read_output());
    return Step::kEnded;
  }
  if (ready <= 0) {
    return Step::kMore;  // the caller looks at the clock
  }
  if (fds[1].revents != 0) {
    read_errors();
    if ((fds[1].revents & (POLLHUP | POLLERR)) != 0) {
      close_fd(errors_);
    }
  }
  if (!to_send.empty() && fds[2].revents != 0) {
    ssize_t const sent = write(in_, to_send.data(), to_send.size());
    if (sent > 0) {
      to_send.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      to_send = {};  // it does not read any more; its output says why
    }
  }
  return fds[0].revents == 0 || read_output() ? Step::kMore : Step::kEnded;
}

/// Takes whole lines of the output. Ends an exchange when one is no answer.
Trouble EngineProcess::take_lines(std::size_t& answers, OnLine const& on_line, bool& progress) {
  while (answers != 0) {
    std::size_t const end = output_.find('\n', taken_);
    if (std::min(end, output_.size()) - taken_ > kMostLine) {
      return this->end(Ending::kProtocol, "a line is longer than 1 MiB");
    }
    if (end == std::string::npos) {
      break;
    }
    bool closed = false;
    std::string const fault =
        on_line(std::string_view{output_}.substr(taken_, end - taken_), closed);
    taken_ = end + 1;
    progress = progress || closed;
    if (!fault.empty()) {
      return this->end(Ending::kProtocol, fault);
    }
    answers -= closed ? 1 : 0;
  }
  if (answers == 0 && taken_ < output_.size()) {
    return this->end(
        Ending::kProtocol,
        "a line that nobody asked for: " +
            model::quoted(output_.substr(
                taken_, std::min<std::size_t>(80, output_.find('\n', taken_) - taken_))));
  }
  return {};
}

Trouble EngineProcess::exchange(std::string_view text, std::size_t answers, OnLine const& on_line) {
  std::string_view to_send = text;
  auto since = Clock::now();
  bool ended = false;
  while (answers != 0) {
    bool progress = false;
    if (Trouble trouble = take_lines(answers, on_line, progress); trouble.ending != Ending::kFine) {
      return trouble;
    }
    if (answers == 0) {
      break;
    }
    if (ended) {
      return died();
    }
    if (progress) {
      since = Clock::now();
      is_first_ = false;
    }
    output_.erase(0, taken_);
    taken_ = 0;
    double const most = is_first_ ? limits_.start_seconds : limits_.seconds;
    Step const step = wait_for_output(to_send, most - seconds_since(since));
    ended = step == Step::kEnded;
    if (step == Step::kTimedOut) {
      std::string const half =
          output_.empty() ? "" : "; it had begun: " + model::quoted(output_.substr(0, 80));
      return end(Ending::kHang,
                 "no answer within " + std::to_string(static_cast<int>(most)) + " s" + half);
    }
  }
  is_first_ = false;
  output_.erase(0, taken_);
  taken_ = 0;
  return {};
}

}  // namespace holdfast::fuzz
