// SPDX-License-Identifier: Apache-2.0
// Goal: `holdfast minimize` makes a failing trace small in the time that a user waits for, and says
// in one line what is wrong with one that does not fail. Method: the program that was built.
#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/effort.hpp"
#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

constexpr double kSeconds = kIsSanitized ? 30 : 1;

constexpr char const* kHead = "holdfast-trace 1\ngeometry tiny\ndevice host\n";

TEST_F(Program, MinimizesWhatRunSaved) {
  for (std::string const mutant : {"two_plane_snapshot",
                                   "ring_one_lap_assumed",
                                   "sealed_not_raised",
                                   "restore_inside_any_pool",
                                   "leak_on_drop",
                                   "version_ignored"}) {
    Outcome const saved =
        shell("holdfast run --seed 5 --ops 200000 --mutant " + mutant + " --save a.trace");
    ASSERT_EQ(saved.code, 1) << saved.err;
    std::string const command = "holdfast minimize a.trace --mutant " + mutant;
    EXPECT_NE(saved.out.find("make it small with:\n" + command + "\n"), std::string::npos)
        << saved.out;
    Outcome const outcome = shell(command + " --json -o b.trace");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    Json const json = Json::parse(outcome.out);
    EXPECT_LE(json.at("operations").get<std::size_t>(), 12U) << json.dump(2);
    EXPECT_LE(json.at("operations"), json.at("operations_before")) << mutant;
    EXPECT_LE(json.at("seconds").get<double>(), kSeconds) << mutant;
    EXPECT_EQ(json.at("trace").get<std::string>(), content_of(path("b.trace")));
    Json const before = Json::parse(shell("holdfast replay a.trace --json --mutant " + mutant).out);
    Outcome const again = shell(json.at("reproduce").get<std::string>() + " --json");
    EXPECT_EQ(again.code, 1) << again.err;
    Json const after = Json::parse(again.out);
    for (Json const& id : json.at("violates")) {
      EXPECT_NE(before.at("failure").at("violations").dump().find(id.dump()), std::string::npos);
      EXPECT_NE(after.at("failure").at("violations").dump().find(id.dump()), std::string::npos);
    }
    EXPECT_EQ(shell("holdfast replay b.trace").code, 0) << mutant;
  }
}

TEST_F(Program, MinimizePrintsATraceOrSavesIt) {
  ASSERT_EQ(shell("holdfast run --ops 20000 --mutant two_plane_snapshot --save a.trace").code, 1);
  Outcome const printed = shell("holdfast minimize a.trace --mutant two_plane_snapshot");
  ASSERT_EQ(printed.code, 0) << printed.err;
  write("printed.trace", printed.out);
  EXPECT_EQ(shell("holdfast replay printed.trace --mutant two_plane_snapshot").code, 1);
  EXPECT_EQ(printed.out.rfind("# violates ", 0), 0U) << printed.out;
  Outcome const full = shell("holdfast minimize a.trace --mutant two_plane_snapshot -o /dev/full");
  EXPECT_EQ(full.code, 3);
  EXPECT_EQ(full.out, printed.out) << "what was searched for is not lost";
  Outcome const saved =
      shell("holdfast minimize a.trace --mutant two_plane_snapshot --no-compare -o 'c d.trace'");
  ASSERT_EQ(saved.code, 0) << saved.err;
  EXPECT_EQ(last_line(saved.out),
            "holdfast replay 'c d.trace' --mutant two_plane_snapshot --no-compare");
  EXPECT_EQ(shell(last_line(saved.out)).code, 1);
}

TEST_F(Program, MinimizesOnTheDeviceThatReplayFailedOn) {
  ASSERT_EQ(
      shell("holdfast run --device sim --ops 20000 --mutant two_plane_snapshot --save a.trace")
          .code,
      1);
  Outcome const replayed =
      shell("holdfast replay a.trace --device host --mutant two_plane_snapshot");
  ASSERT_EQ(replayed.code, 1) << replayed.err;
  std::string const command = "holdfast minimize a.trace --device host --mutant two_plane_snapshot";
  EXPECT_NE(replayed.out.find("make it small with:\n" + command + "\n"), std::string::npos)
      << replayed.out;
  EXPECT_NE(shell(command).out.find("\ndevice host\n"), std::string::npos);
}

TEST_F(Program, MinimizeRefusesWhatItCannotDo) {
  write("holds.trace", std::string{kHead} + "create sequence=s0\n");
  write("unrunnable.trace", std::string{kHead} + "snapshot sequence=s3 snapshot=h0\n");
  write("malformed.trace", std::string{kHead} + "create sequence=x\n");
  expect_refusal(2, "holdfast minimize", "one trace file");
  expect_refusal(2, "holdfast minimize a b", "one trace file");
  expect_refusal(
      2, "holdfast minimize missing.trace", "missing.trace: cannot be read: No such file");
  expect_refusal(2, "holdfast minimize malformed.trace", "malformed.trace:4:8: ");
  expect_refusal(2, "holdfast minimize holds.trace", "holds.trace: all holds");
  expect_refusal(2, "holdfast minimize unrunnable.trace", "unrunnable.trace: all holds");
  expect_refusal(2,
                 "holdfast minimize holds.trace --mutant half_truncate",
                 "with the mutant half_truncate too");
  expect_refusal(2, "holdfast minimize holds.trace --mutant half_trunkate", "did you mean");
  expect_refusal(3, "holdfast minimize holds.trace -o nowhere/x.trace", "nowhere/x.trace");
  expect_refusal(2, "holdfast minimize .", ".");
}

}  // namespace
}  // namespace holdfast::test
