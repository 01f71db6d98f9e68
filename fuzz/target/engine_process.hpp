// SPDX-License-Identifier: Apache-2.0
// An adapter as a child process: lines go in, lines come back, and whatever else it does is told apart: it died, it hung, it
// wanted too much memory, it said something that is no answer. It is gone, with all that it started, when this object is.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fuzz {

struct ProcessLimits {
  double seconds = 10;                 // for one answer
  double start_seconds = 60;           // for the answer to the first line
  std::uint64_t memory = 8ULL << 30U;  // bytes of address space; 0: no limit
};

/// How an exchange ended.
enum class Ending : std::uint8_t { kFine, kCrash, kHang, kMemory, kProtocol };

struct Trouble {
  Ending ending = Ending::kFine;
  std::string text;
};

class EngineProcess {
 public:
  /// Takes one line of an answer. Returns what is wrong with it, or nothing; `closed` becomes true with
  /// the last line of an answer.
  using OnLine = std::function<std::string(std::string_view line, bool& closed)>;

  /// Starts it. Throws InputError when the command cannot be run, std::system_error when there are no processes.
  EngineProcess(std::vector<std::string> const& command, ProcessLimits limits);
  ~EngineProcess();
  EngineProcess(EngineProcess const&) = delete;
  EngineProcess& operator=(EngineProcess const&) = delete;

  /// Sends `text`, and takes `answers` answers. After any ending but kFine it is dead.
  Trouble exchange(std::string_view text, std::size_t answers, OnLine const& on_line);
  [[nodiscard]] bool is_alive() const noexcept { return pid_ > 0; }
  /// What it wrote on standard error: the first and the last of it.
  [[nodiscard]] std::string said() const;

 private:
  enum class Step : std::uint8_t { kMore, kEnded, kTimedOut };

  void start(std::vector<std::string> const& command);
  Step wait_for_output(std::string_view& to_send, double deadline_seconds);
  bool read_output();
  void read_errors();
  [[nodiscard]] std::string last_words() const;
  Trouble take_lines(std::size_t& answers, OnLine const& on_line, bool& progress);
  Trouble end(Ending ending, std::string const& text);
  bool is_gone();
  Trouble died();
  int kill_group();

  ProcessLimits limits_;
  pid_t pid_ = -1;
  std::optional<int> status_;  // once it is dead
  int in_ = -1;                // its standard input
  int out_ = -1;               // its standard output
  int errors_ = -1;            // its standard error
  bool is_first_ = true;
  std::string output_;     // not yet taken
  std::size_t taken_ = 0;  // of output_
  std::string first_errors_;
  std::string last_errors_;
};

}  // namespace holdfast::fuzz
