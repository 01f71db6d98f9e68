// SPDX-License-Identifier: Apache-2.0
// What is the same for all targets whose inputs are programs.
#include "fuzz/targets/program_target.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fuzz/codec.hpp"
#include "fuzz/geometry_shelf.hpp"
#include "fuzz/mutator.hpp"
#include "fuzz/swarm.hpp"
#include "fuzz/targets/feedback.hpp"

namespace holdfast::fuzz {
namespace {

GeometryShelf& shelf() {
  static auto& known = *[] {
    RunnerOptions options{.device = kind_of_devices(), .on_transition = light};
    keep_flights(options);
    return new GeometryShelf{std::move(options)};
  }();
  return known;
}

#ifdef HOLDFAST_LIBFUZZER
void change_bytes(std::span<std::uint8_t> bytes) {
  static_cast<void>(LLVMFuzzerMutate(bytes.data(), bytes.size(), bytes.size()));
}
#else
constexpr auto change_bytes = nullptr;
#endif

ProgramMutator* make_mutator() {
  constexpr std::uint64_t kVariantSeed = 1;
  std::vector<std::string> const names = model::default_geometry_names();
  return new ProgramMutator{shelf(), names, variant_references(names, kVariantSeed), change_bytes};
}

ProgramMutator& mutator() {
  static auto& known = *make_mutator();
  return known;
}

/// Writes a program; operations at its end go until it fits.
std::size_t write(model::Trace program, std::uint8_t* out, std::size_t most) {
  std::vector<std::uint8_t> bytes = encode_program(program);
  while (bytes.size() > most && !program.ops.empty()) {
    program.ops.resize(program.ops.size() - (program.ops.size() + 7) / 8);
    bytes = encode_program(program);
  }
  std::size_t const size = std::min(most, bytes.size());
  std::memcpy(out, bytes.data(), size);
  return size;
}

}  // namespace

void make_seeds(std::uint32_t count, std::function<void(Input input)> const& keep) {
  std::vector<std::string> const names = model::default_geometry_names();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string const& name = names[i % names.size()];
    Runner& runner = shelf().find(name)->runner;
    std::uint64_t const seed = program_seed(0, i);
    static_cast<void>(runner.run_seed(seed, seed_generator(runner)));
    model::Trace program{.geometry = name, .ops = runner.ops()};
    settle_devices(program, seed);
    keep(encode_program(program));
  }
}

}  // namespace holdfast::fuzz

extern "C" {

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace holdfast::fuzz;  // NOLINT(google-build-using-namespace): outside any namespace
  // What engines begin with when they have nothing is accepted; or else they give up.
  int const nothing = size > 1 ? -1 : 0;
  holdfast::model::Trace const program = decode_program({data, size});
  ShelvedGeometry* const known = program.ops.empty() ? nullptr : shelf().find(program.geometry);
  auto const devices = devices_of(program);
  bool const is_run = known != nullptr && devices.has_value() &&
                      run_program(known->runner, program.ops, *devices) != 0;
  return is_run ? 0 : nothing;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                    std::size_t size,
                                    std::size_t max_size,
                                    unsigned seed) {
  using namespace holdfast::fuzz;  // NOLINT(google-build-using-namespace): outside any namespace
  holdfast::model::Trace program = decode_program({data, size});
  mutator().mutate(program, seed);
  settle_devices(program, holdfast::model::mix(seed, 0x646576U));
  return write(std::move(program), data, max_size);
}

std::size_t LLVMFuzzerCustomCrossOver(std::uint8_t const* first,
                                      std::size_t first_size,
                                      std::uint8_t const* second,
                                      std::size_t second_size,
                                      std::uint8_t* out,
                                      std::size_t max_size,
                                      unsigned seed) {
  using namespace holdfast::fuzz;  // NOLINT(google-build-using-namespace): outside any namespace
  holdfast::model::Trace program = mutator().cross(
      decode_program({first, first_size}), decode_program({second, second_size}), seed);
  settle_devices(program, holdfast::model::mix(seed, 0x646576U));
  return write(std::move(program), out, max_size);
}
}
