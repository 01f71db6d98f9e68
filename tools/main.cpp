// SPDX-License-Identifier: Apache-2.0
// The holdfast program, and holdfast-mutants.
#include <cerrno>
#include <exception>
#include <new>
#include <variant>

#include "models/input_error.hpp"
#include "models/read_file.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/process.hpp"

namespace holdfast::tools {
namespace {

bool needs_mutants(Options const& options) {
  if (auto const* run = std::get_if<RunOptions>(&options)) {
    return run->mutant.has_value() || run->sometimes;  // that build has the library's points
  }
  if (auto const* replay = std::get_if<ReplayOptions>(&options)) {
    return replay->mutant.has_value();
  }
  if (auto const* minimize = std::get_if<MinimizeOptions>(&options)) {
    return minimize->mutant.has_value();
  }
  if (auto const* explain = std::get_if<ExplainOptions>(&options)) {
    return explain->mutant.has_value();
  }
  if (auto const* campaign = std::get_if<FuzzOptions>(&options)) {
    return campaign->mutant.has_value();
  }
  if (auto const* gate = std::get_if<GateOptions>(&options)) {
    return gate->mutant.has_value();
  }
  return std::holds_alternative<MutantsOptions>(options);
}

int run_program(int argc, char** argv) {
  Options const options = parse_command_line(argc, argv);
  if (needs_mutants(options)) {
    hand_over_to_mutants(argv);
  }
  return std::visit([](auto const& known) { return execute(known); }, options);
}

}  // namespace

int execute(HelpOptions const& options) {
  print(options.text);
  return kExitHeld;
}

}  // namespace holdfast::tools

int main(int argc, char** argv) {
  using namespace holdfast::tools;  // NOLINT(google-build-using-namespace): this is all of main
  prepare_process();
  try {
    return run_program(argc, argv);
  } catch (holdfast::model::UnreadableFile const& error) {
    complain(error.what());
    return error.code() == EINTR && was_interrupted() ? exit_code(false) : kExitInput;
  } catch (holdfast::model::InputError const& error) {
    complain(error.what());
    return kExitInput;
  } catch (std::bad_alloc const&) {
    complain_of_memory();
  } catch (std::exception const& error) {
    complain(error.what());
  }
  return kExitEnvironment;
}
