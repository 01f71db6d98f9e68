// SPDX-License-Identifier: Apache-2.0
#include "tools/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <system_error>

#include "fuzz/files.hpp"
#include "fuzz/mutants.hpp"
#include "models/input_error.hpp"
#include "tools/terminal.hpp"

namespace holdfast::tools {
namespace {

std::string reason(int code) {
  return std::generic_category().message(code);
}

// All are set up before the signals that read them can come.
std::atomic<int>& interrupts() noexcept {
  static std::atomic<int> count{0};
  return count;
}
std::atomic<int>& interrupting_signal() noexcept {
  static std::atomic<int> signal{0};
  return signal;
}
std::string& crash_command() {
  static std::string command;
  return command;
}

void note_interrupt(int signal) {
  interrupting_signal().store(signal);
  // Tools such as timeout(1) send one to the process and one to its group.
  if (interrupts().fetch_add(1) == 2) {
    _exit(kExitSignal + signal);
  }
}

void say(char const* text, std::size_t size) noexcept {
  if (write(STDERR_FILENO, text, size) < 0) {
    return;  // there is nowhere left to say it
  }
}

void report_crash(int signal) {
  constexpr std::string_view kBegin = "holdfast: crashed with signal ";
  constexpr std::string_view kMiddle = "; reproduce with: ";
  char const number[] = {static_cast<char>('0' + signal / 10),
                         static_cast<char>('0' + signal % 10)};
  bool const is_short = signal < 10;
  say(kBegin.data(), kBegin.size());
  say(is_short ? number + 1 : number, is_short ? 1 : 2);
  say(kMiddle.data(), kMiddle.size());
  say(crash_command().data(), crash_command().size());
  say("\n", 1);
  _exit(kExitViolation);
}

// Threads and the library's noexcept functions end here.
[[noreturn]] void end_uncaught() {
  int code = kExitEnvironment;
  try {
    if (std::exception_ptr const error = std::current_exception()) {
      std::rethrow_exception(error);
    }
    complain("ended without a reason");
  } catch (std::bad_alloc const&) {
    complain_of_memory();
  } catch (model::InputError const& error) {
    complain(error.what());
    code = kExitInput;
  } catch (std::exception const& error) {
    complain(error.what());
  } catch (...) {
    complain("an unknown exception");
  }
  _exit(code);
}

struct Close {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

}  // namespace

void prepare_process() {
  // A file that is opened later must not become standard output.
  for (int const stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0) {
      static_cast<void>(open("/dev/null", O_RDONLY));
    }
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error like a full disk
  std::set_terminate(end_uncaught);
}

void print(std::string_view text) {
  bool const written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw EnvironmentError{"standard output cannot be written: " + reason(errno)};
  }
}

void write_file(std::string const& path, std::string_view text) {
  std::error_code error;
  std::filesystem::file_status const known = std::filesystem::status(path, error);
  bool const is_there = std::filesystem::is_regular_file(known);
  if (is_there || std::filesystem::symlink_status(path, error).type() ==
                      std::filesystem::file_type::not_found) {
    // Whole or not at all: what was there may be the only witness of a bug.
    try {
      fuzz::write_whole(is_there ? std::filesystem::canonical(path) : std::filesystem::path{path},
                        text);
    } catch (fuzz::FileError const& failed) {
      throw EnvironmentError{failed.what()};
    }
    return;
  }
  std::unique_ptr<std::FILE, Close> file{std::fopen(path.c_str(), "wbe")};
  if (file == nullptr) {
    throw EnvironmentError{path + ": cannot be written: " + reason(errno)};
  }
  bool const written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                       std::fflush(file.get()) == 0;
  int const code = errno;
  bool const closed = std::fclose(file.release()) == 0;
  if (!written || !closed) {
    throw EnvironmentError{path + ": cannot be written: " + reason(written ? errno : code)};
  }
}

void complain(std::string const& line) {
  // model::InputError keeps messages on one line; others may quote anything.
  std::string const text = in_colour(STDERR_FILENO, Colour::kBad, "holdfast:") + " " +
                           model::InputError{line}.what() + "\n";
  say(text.data(), text.size());
}

void complain_of_memory() noexcept {
  constexpr std::string_view kLine = "holdfast: out of memory\n";
  say(kLine.data(), kLine.size());
}

void catch_interrupts() {
  interrupts();
  interrupting_signal();
  struct sigaction before {};
  bool const ignores_hangup =
      sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;  // nohup(1)
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  if (!ignores_hangup) {
    sigaction(SIGHUP, &action, nullptr);
  }
}

bool was_interrupted() noexcept {
  return interrupts().load() != 0;
}

int exit_code(bool violated) noexcept {
  if (violated) {
    return kExitViolation;
  }
  return was_interrupted() ? kExitSignal + interrupting_signal().load() : kExitHeld;
}

void explain_crashes(std::string const& command) {
  crash_command() = command;
  for (int const signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
      action.sa_handler = report_crash;
      action.sa_flags = static_cast<int>(SA_RESETHAND);
      sigaction(signal, &action, nullptr);
    }
  }
}

std::string invoked_name() {
  std::ifstream file{"/proc/self/cmdline", std::ios::binary};
  std::string name;
  std::getline(file, name, '\0');
  return name.empty() ? "holdfast" : name;
}

void hand_over_to_mutants(char** argv) {
  if (fuzz::has_mutants()) {
    return;
  }
  std::error_code error;
  std::filesystem::path const self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string const twin = (self.parent_path() / "holdfast-mutants").string();
  if (!error) {
    execv(twin.c_str(), argv);
  }
  throw EnvironmentError{twin + ": cannot be started, and mutants need it: " +
                         (error ? error.message() : reason(errno))};
}

}  // namespace holdfast::tools
