// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. A target is one file that defines LLVMFuzzerTestOneInput and
// make_seeds, and one line in CMakeLists.txt. It is linked with an engine, or with a main that runs
// inputs again (replay_main.cpp). fuzz_cuda is fuzz_interleave with a shadow on CUDA devices: without a
// device it says SKIPPED and ends with 3.
//
// Options that begin with two dashes are ours, and ignored by libFuzzer:
//   --mutant=NAME   turns on a seeded bug; of the twin over the mutant build of the library only
//   --findings=DIR  writes the program of a violation there, as a trace
//   --device=sim    runs programs on simulated devices; fuzz_async does in any case
//   --flight=FILE   keeps the program that is going on there, as a trace, each operation before it runs
//   --tally=FILE    keeps two numbers of eight bytes there: the operations that programs ran, and how
//                   many those were when one first came to the site of the seeded bug
//   --budget=N      ends with 0 once programs ran so many operations
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "fuzz/runner.hpp"
#include "models/trace.hpp"

extern "C" {
int LLVMFuzzerInitialize(int* argc, char*** argv);
int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
}

namespace holdfast::fuzz {

using Input = std::span<std::uint8_t const>;

/// Makes `count` inputs to begin with, the same ones every time, and calls `keep` for each. Defined
/// by each target.
void make_seeds(std::uint32_t count, std::function<void(Input input)> const& keep);

/// Says what was found, and aborts, which is what every engine understands; or does what the
/// hook says.
[[noreturn]] void report_finding(std::string const& text);
/// What happens to a finding in place of an abort; it may throw. nullptr: the abort.
void set_finding_hook(void (*hook)(std::string const& text));

/// On which devices programs are run.
[[nodiscard]] model::DeviceChoice chosen_device();

/// Has a runner's programs kept in the file of --flight, when that was asked for.
void keep_flights(RunnerOptions& options);

/// Runs a program, on devices of the runner's kind; a violation is a finding.
/// Returns how many of its operations could run.
std::size_t run_program(Runner& runner,
                        std::vector<model::AnyOp> const& ops,
                        model::DeviceChoice const& devices);

}  // namespace holdfast::fuzz
