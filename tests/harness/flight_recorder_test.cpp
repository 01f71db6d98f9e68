// SPDX-License-Identifier: Apache-2.0
// Goal: a process that dies in the middle of a program leaves the trace of it, up to the operation that it
// died in; one that ends well leaves nothing.
// Method: a child that kills itself when an operation of its choice begins.
#include "fuzz/flight_recorder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "fuzz/run.hpp"
#include "fuzz/runner.hpp"

namespace holdfast::test {
namespace {

std::string path_of(char const* name) {
  return (std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))).string();
}

TEST(FlightRecorder, LeavesTheProgramOfAProcessThatDied) {
  std::string const path = path_of("flight");
  model::Geometry const geometry = model::load_geometry("tiny");
  fuzz::Runner whole{geometry, {}};
  static_cast<void>(whole.run_seed(3));
  constexpr std::size_t kDeadly = 5;
  ASSERT_GT(whole.ops().size(), kDeadly);

  pid_t const child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    fuzz::FlightRecorder flight{path};
    std::size_t begun = 0;
    fuzz::Runner runner{geometry, {.on_begin = [&](model::AnyOp const& op) {
                          flight.note(op);
                          if (++begun == kDeadly) {
                            static_cast<void>(raise(SIGKILL));
                          }
                        }}};
    flight.start({.geometry = "tiny", .ops = {whole.ops()[0]}});  // forgotten by the next
    flight.start({.geometry = "tiny"});
    static_cast<void>(runner.run_seed(3));
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  model::Trace const left = model::load_trace(path);
  std::filesystem::remove(path);
  EXPECT_EQ(left.geometry, "tiny");
  ASSERT_EQ(left.ops.size(), kDeadly);
  for (std::size_t i = 0; i < kDeadly; ++i) {
    EXPECT_EQ(model::text_of(left.ops[i]), model::text_of(whole.ops()[i]));
  }
}

TEST(FlightRecorder, LeavesNothingOfARunThatEnded) {
  std::string const path = path_of("flights");
  fuzz::RunPlan plan{.geometries = {model::load_geometry("tiny")},
                     .seed = 1,
                     .operations = 40'000,
                     .threads = 2,
                     .flights = path};
  bool has_file = false;
  plan.should_stop = [&] {
    has_file = has_file || std::filesystem::exists(path + ".0");
    return false;
  };
  EXPECT_FALSE(fuzz::run_many(plan).failed);
  EXPECT_TRUE(has_file);
  EXPECT_FALSE(std::filesystem::exists(path + ".0"));
  EXPECT_FALSE(std::filesystem::exists(path + ".1"));
}

TEST(FlightRecorder, SaysWhereItCannotWrite) {
  EXPECT_THROW(fuzz::FlightRecorder{"/nowhere/flight"}, std::runtime_error);
}

}  // namespace
}  // namespace holdfast::test
