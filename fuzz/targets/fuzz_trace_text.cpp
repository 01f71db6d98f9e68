// SPDX-License-Identifier: Apache-2.0
// Texts that somebody may give the program: traces, and geometries as JSON. What is read must come
// back from its own print, and what is small is run.
#include <string_view>

#include "fuzz/geometry_shelf.hpp"
#include "fuzz/targets/target.hpp"
#include "models/input_error.hpp"

namespace holdfast::fuzz {
namespace {

constexpr std::size_t kMostOps = 64;
constexpr std::uint64_t kMostBytes = 4U << 20U;

GeometryShelf& shelf() {
  static auto& known = *new GeometryShelf{{}, kMostBytes};
  return known;
}

void expect_same(std::string const& first, std::string const& second) {
  if (first != second) {
    report_finding(first + "---\n" + second + "---\nwhat was printed reads as something else\n");
  }
}

void try_geometry(std::string_view text) {
  model::Geometry const geometry = model::parse_geometry(text, "input");
  expect_same(geometry.text, model::parse_geometry(geometry.text, "printed").text);
  if (ShelvedGeometry* const known = shelf().find(geometry.text)) {
    static_cast<void>(known->runner.run_seed(1));  // whatever it is asked for, it stands
    run_program(known->runner, known->runner.ops(), {});
  }
}

void try_trace(std::string_view text) {
  model::Trace const trace = model::parse_trace(text, "input");
  std::string const printed = model::print_trace(trace);
  expect_same(printed, model::print_trace(model::parse_trace(printed, "printed")));
  if (trace.ops.size() <= kMostOps) {
    if (ShelvedGeometry* const known = shelf().find(trace.geometry)) {
      run_program(known->runner, trace.ops, {});
    }
  }
}

}  // namespace

void make_seeds(std::uint32_t count, std::function<void(Input input)> const& keep) {
  auto const keep_text = [&](std::string const& text) {
    keep({reinterpret_cast<std::uint8_t const*>(text.data()), text.size()});
  };
  std::vector<std::string> const names = model::default_geometry_names();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string const& name = names[i % names.size()];
    ShelvedGeometry* const known = shelf().find(name);
    if (i < names.size()) {
      keep_text(known->geometry.text);
    }
    static_cast<void>(known->runner.run_seed(program_seed(0, i)));
    keep_text(model::print_trace(
        {.comments = {" a seed"}, .geometry = name, .ops = known->runner.ops()}));
  }
}

}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace holdfast::fuzz;  // NOLINT(google-build-using-namespace): outside any namespace
  std::string_view const text{reinterpret_cast<char const*>(data), size};
  try {
    if (text.find_first_not_of(" \t\r\n") < text.size() &&
        text[text.find_first_not_of(" \t\r\n")] == '{') {
      try_geometry(text);
    } else {
      try_trace(text);
    }
  } catch (holdfast::model::InputError const&) {
    return 0;  // refused, as it must be
  }
  return 0;
}
