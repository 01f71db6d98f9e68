// SPDX-License-Identifier: Apache-2.0
// The process around the commands: standard streams, signals, the twin program.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::tools {

inline constexpr int kExitHeld = 0;
inline constexpr int kExitViolation = 1;
inline constexpr int kExitInput = 2;
inline constexpr int kExitEnvironment = 3;
inline constexpr int kExitSignal = 128;  ///< and the number of the signal

/// What exit codes mean, for whoever reads --help or the manual.
struct ExitMeaning {
  char const* codes;
  char const* meaning;
};
inline constexpr ExitMeaning kExitMeanings[] = {
    {"0", "all held"},
    {"1", "a violation, divergence or crash was found"},
    {"2", "the input or the command line was wrong; one line says what and where"},
    {"3", "the environment failed: a full disk, no such device"},
    {"130",
     "ended early by Ctrl-C, with nothing found until then; 143: by SIGTERM, 129: by SIGHUP"}};

/// The environment lacks something; `what()` is one line. Exit code 3.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Makes closed standard streams fail on use, a broken pipe an error like others, and an exception
/// that nobody caught one line on standard error.
void prepare_process();

/// Writes all of `text` to standard output. Throws EnvironmentError.
void print(std::string_view text);

/// Writes all of `text` to a file, which is then whole or as it was; into what is no file, such as a
/// pipe, as far as it goes. Throws EnvironmentError.
void write_file(std::string const& path, std::string_view text);

/// One line on standard error.
void complain(std::string const& line);
/// The line for exhausted memory; needs none.
void complain_of_memory() noexcept;

/// From now on SIGINT, SIGTERM and SIGHUP are only noted; the third of them ends the process. Who
/// started it so that a SIGHUP is ignored keeps that.
void catch_interrupts();
[[nodiscard]] bool was_interrupted() noexcept;
/// Of work that may have been cut short: a violation counts, whatever else happened.
[[nodiscard]] int exit_code(bool violated) noexcept;

/// From now on a crash of the process is said in one line that ends with `command`, exit code 1.
/// Leaves the handlers of sanitizers alone.
void explain_crashes(std::string const& command);

/// When this is the plain program, goes on as its twin over the mutant build of the library, with
/// the same words. Throws EnvironmentError when there is none.
void hand_over_to_mutants(char** argv);

/// How the user called this program, so that a printed command runs where it was printed.
std::string invoked_name();

}  // namespace holdfast::tools
