// SPDX-License-Identifier: Apache-2.0
// Goal: a campaign loses nothing, whoever is killed, puts every failure into one bucket, and answers
// what is wrong in one line. Method: the program that was built; processes are killed and stopped
// from outside, as a machine would.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/effort.hpp"
#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

constexpr char const* kFuzz = "holdfast fuzz --seed 1 --targets swarm ";

std::string for_about(int seconds) {
  return "--for " + std::to_string(test::patience(seconds)) + "s ";
}

class Campaign : public Program {
 protected:
  [[nodiscard]] Json report(std::string const& folder) const {
    return Json::parse(content_of(path(folder + "/report.json")));
  }
  [[nodiscard]] std::set<std::string> files_below(std::string const& folder) const {
    std::set<std::string> names;
    std::error_code error;
    for (fs::recursive_directory_iterator entry{path(folder), error}, end; entry != end; ++entry) {
      if (entry->is_regular_file() && entry->path().filename().string()[0] != '.') {
        names.insert(fs::relative(entry->path(), folder_).string());
      }
    }
    return names;
  }
  /// A campaign in the background of a shell; `then` is what happens meanwhile, with $campaign its
  /// process and `workers` a function that says its children.
  [[nodiscard]] Outcome during(std::string const& words, std::string const& then) const {
    return shell("workers() { cat /proc/$campaign/task/$campaign/children; }\n" +
                 std::string{kFuzz} + words + " >out.txt 2>err.txt &\ncampaign=$!\n" + then);
  }
};

// Until the first unit lies in the corpus, and a worker is at work.
constexpr char const* kUntilUnits =
    "while kill -0 $campaign 2>/dev/null && [ -z \"$(ls c/corpus/swarm 2>/dev/null)\" ]; do sleep "
    "0.05; done\n";

TEST_F(Campaign, ABugThatFailsOnMostInputsIsOneBucket) {
  for (std::string const mutant : {"birth_not_zeroed", "two_plane_snapshot"}) {
    Outcome const outcome =
        shell(kFuzz + ("--for 4s --workers 2 --json --dir " + mutant) + " --mutant " + mutant);
    ASSERT_EQ(outcome.code, 1) << outcome.out << outcome.err;
    Json const json = Json::parse(outcome.out);
    ASSERT_EQ(json.at("findings").size(), 1U) << json.at("findings").dump(2);
    Json const& finding = json.at("findings").at(0);
    EXPECT_EQ(finding.at("state"), "new");
    // How many fail depends on the flavors whose turn came in four seconds.
    EXPECT_GT(10 * finding.at("count").get<int>(),
              json.at("targets").at("swarm").at("programs").get<int>());
    EXPECT_LE(finding.at("operations").get<int>(), 12);
    Outcome const again = shell(finding.at("reproduce").get<std::string>());
    EXPECT_EQ(again.code, 1) << again.err;
    EXPECT_NE(again.out.find(finding.at("id").get<std::string>()), std::string::npos);
  }
}

TEST_F(Campaign, KilledAndResumedLosesNothing) {
  // The supervisor first, so that nobody can tidy up; its workers die with it.
  Outcome const killed = during(
      "--for 20s --workers 2 --dir c --mutant view_not_counted",
      kUntilUnits + std::string{"while kill -0 $campaign 2>/dev/null && [ -z \"$(ls c/findings "
                                "2>/dev/null)\" ]; do sleep 0.05; done\n"
                                "children=$(workers)\nkill -9 $campaign\nsleep 0.2\n"
                                "for child in $children; do kill -9 $child 2>/dev/null; done\n"
                                "wait $campaign; echo code $?"});
  ASSERT_NE(killed.out.find("code 137"), std::string::npos) << killed.out << killed.err;
  std::set<std::string> const units = files_below("c/corpus");
  std::set<std::string> const findings = files_below("c/findings");
  Json const before = Json::parse(content_of(path("c/state.json")));
  ASSERT_FALSE(units.empty());
  ASSERT_FALSE(findings.empty());
  Outcome const resumed =
      shell(kFuzz + std::string{"--for 3s --workers 2 --dir c --resume --json --mutant "
                                "view_not_counted"});
  ASSERT_EQ(resumed.code, 1) << resumed.out << resumed.err;
  Json const after = Json::parse(content_of(path("c/state.json")));
  EXPECT_EQ(after.at("starts"), 2);
  EXPECT_EQ(after.at("seed"), before.at("seed"));
  EXPECT_GE(after.at("targets").at("swarm").at("next_lease"),
            before.at("targets").at("swarm").at("next_lease"));
  std::set<std::string> const units_after = files_below("c/corpus");
  std::set<std::string> const findings_after = files_below("c/findings");
  EXPECT_TRUE(std::includes(units_after.begin(), units_after.end(), units.begin(), units.end()));
  EXPECT_TRUE(std::includes(
      findings_after.begin(), findings_after.end(), findings.begin(), findings.end()));
  EXPECT_TRUE(fs::is_empty(path("c/spool")));
}

TEST_F(Campaign, WhatWasHandedOverIsNotForgotten) {
  ASSERT_EQ(shell(kFuzz + for_about(1) + "--workers 1 --dir c --mutant birth_not_zeroed").code, 1);
  // As if the supervisor had been killed before it read the spool.
  fs::path const bucket = *fs::directory_iterator{path("c/findings")};
  Json finding = Json::parse(content_of(bucket / "finding.json"));
  finding["trace"] = content_of(bucket / "shortest.trace");
  finding["bytes"] = nullptr;
  finding["seconds"] = 0.5;
  write("c/spool/x.json", finding.dump());
  fs::remove_all(path("c/findings"));
  Outcome const resumed =
      shell(kFuzz + std::string{"--for 1s --dir c --resume --mutant birth_not_zeroed"});
  EXPECT_EQ(resumed.code, 1) << resumed.out << resumed.err;
  EXPECT_TRUE(fs::exists(path("c/findings") / bucket.filename()));
  EXPECT_TRUE(fs::is_empty(path("c/spool")));
}

TEST_F(Campaign, ACrashAndATimeOutAreFindingsAndAMemoryKillIsNone) {
  Outcome const killed = during("--for 3s --workers 1 --dir c --json",
                                kUntilUnits + std::string{"kill -9 $(workers)\nwait $campaign"});
  EXPECT_EQ(killed.code, 0) << killed.err;
  EXPECT_TRUE(report("c").at("findings").empty());
  EXPECT_EQ(report("c").at("targets").at("swarm").at("memory_kills"), 1);
  fs::remove_all(path("c"));

  Outcome const crashed =
      during("--for 3s --workers 1 --dir c --json",
             kUntilUnits + std::string{"kill -SEGV $(workers)\nwait $campaign"});
  EXPECT_EQ(crashed.code, 1) << crashed.err;
  ASSERT_EQ(report("c").at("findings").size(), 1U);
  Json const crash = report("c").at("findings").at(0);
  EXPECT_EQ(report("c").at("targets").at("swarm").at("crashes"), 1);
  EXPECT_TRUE(fs::exists(path("c/findings") / crash.at("bucket").get<std::string>()));
  EXPECT_GT(crash.at("operations").get<int>(), 0);
  fs::remove_all(path("c"));

  Outcome const stopped =
      during(for_about(4) + "--workers 1 --timeout " + std::to_string(test::patience(1)) +
                 "s --dir c --json",
             kUntilUnits + std::string{"kill -STOP $(workers)\nwait $campaign"});
  EXPECT_EQ(stopped.code, 1) << stopped.err;
  ASSERT_EQ(report("c").at("findings").size(), 1U);
  EXPECT_EQ(report("c").at("findings").at(0).at("id"), "HANG");
  EXPECT_EQ(report("c").at("targets").at("swarm").at("time_outs"), 1);
}

TEST_F(Campaign, FixedFailuresAreSaidToBeFixed) {
  std::string const mutant = " --mutant birth_not_zeroed";
  ASSERT_EQ(shell(kFuzz + (for_about(1) + "--workers 1 --dir c" + mutant)).code, 1);
  std::string text = content_of(path("c/state.json"));
  text.replace(text.find("birth_not_zeroed"), std::string{"birth_not_zeroed"}.size(), "");
  write("c/state.json", text);
  for (std::string const time : {"1s", "2s"}) {  // nothing is left to do, and a second
    Outcome const outcome = shell(kFuzz + ("--dir c --resume --for " + time));
    ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_EQ(report("c").at("findings").at(0).at("state"), "fixed");
  }
}

TEST_F(Campaign, FailsWhenItsCanaryIsSilent) {
  Outcome const outcome = shell(kFuzz + std::string{"--for 1s --workers 1 --dir c --mute-canary"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("canary NOT REPORTED"), std::string::npos) << outcome.out;
}

TEST_F(Campaign, MergesEachFindingOnce) {
  std::string const mutant = " --mutant birth_not_zeroed";
  ASSERT_EQ(shell("holdfast fuzz --targets swarm --seed 1 --for 1s --dir a" + mutant).code, 1);
  ASSERT_EQ(shell("holdfast fuzz --targets swarm --seed 2 --for 1s --dir b" + mutant).code, 1);
  ASSERT_EQ(shell("holdfast fuzz --targets swarm --seed 3 --for 1s --dir c").code, 0);
  Outcome const outcome =
      shell("holdfast fuzz --collect a --collect b --collect c --dir all --json");
  ASSERT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  Json const json = Json::parse(outcome.out);
  ASSERT_EQ(json.at("findings").size(), 1U);
  EXPECT_EQ(json.at("findings").at(0).at("count").get<int>(),
            report("a").at("findings").at(0).at("count").get<int>() +
                report("b").at("findings").at(0).at("count").get<int>());
  EXPECT_EQ(json.at("supervisors"), 3);
  EXPECT_GE(json.at("units"), report("c").at("units"));
  expect_refusal(2, "holdfast fuzz --collect a --dir all", "all: has a campaign");
  expect_refusal(2, "holdfast fuzz --collect nowhere --dir new", "nowhere/state.json");
}

TEST_F(Campaign, SharesUnits) {
  ASSERT_EQ(shell(kFuzz + std::string{"--for 1s --dir a --exchange shared"}).code, 0);
  std::size_t const count = files_below("shared/swarm").size();
  EXPECT_EQ(count, files_below("a/corpus/swarm").size());
  ASSERT_EQ(shell("holdfast fuzz --seed 2 --targets swarm --for 1s --dir b --exchange shared").code,
            0);
  EXPECT_GE(files_below("b/corpus/swarm").size(), count);
}

TEST_F(Campaign, RunsNewUnitsAgainWithSanitizers) {
  write("sanitized",
        "#!/bin/sh\nshift\necho \"$1: ok, 3 operations\"\n"
        "echo '==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1'\n"
        "echo '    #0 0x1 in holdfast::internal::f() /a.cpp:1:2'\nexit 1\n");
  write("outdated", "#!/bin/sh\necho 'holdfast: unknown geometry'\nexit 2\n");
  Outcome const found = shell("chmod +x sanitized outdated; " + std::string{kFuzz} + for_about(3) +
                              "--workers 1 --dir a --sanitized ./sanitized --json");
  ASSERT_EQ(found.code, 1) << found.out << found.err;
  Json const json = Json::parse(found.out);
  ASSERT_EQ(json.at("findings").size(), 1U) << json.at("findings").dump(2);
  EXPECT_EQ(json.at("findings").at(0).at("id"), "ASAN heap-use-after-free");
  EXPECT_EQ(json.at("findings").at(0).at("frames").at(0), "holdfast::internal::f");
  expect_refusal(3,
                 kFuzz + for_about(3) + "--workers 1 --dir b --sanitized ./outdated",
                 "the build with sanitizers: unknown geometry");
  expect_refusal(3, "holdfast fuzz --sanitized nothing", "nothing: is not there");
}

TEST_F(Campaign, BeginsWithSeeds) {
  ASSERT_EQ(shell(kFuzz + std::string{"--for 1s --dir a"}).code, 0);
  std::size_t const count = files_below("a/corpus/swarm").size();
  ASSERT_EQ(shell("holdfast fuzz --seed 2 --targets swarm --for 1s --dir b --seeds a/corpus").code,
            0);
  EXPECT_GE(files_below("b/corpus/swarm").size(), count);
}

TEST_F(Campaign, RefusesInOneLine) {
  expect_refusal(2, "holdfast fuzz --workers 0", "--workers: '0'");
  expect_refusal(2, "holdfast fuzz --for 8d", "--for: '8d' is no duration");
  expect_refusal(2, "holdfast fuzz --targets fuzz_interleaf", "did you mean \"fuzz_interleave\"?");
  expect_refusal(2, "holdfast fuzz --resume --dir none", "none: has no campaign to go on with");
  expect_refusal(3,
                 "cp '" HOLDFAST_BIN_DIR
                 "/holdfast' . && ./holdfast fuzz --targets fuzz_interleave",
                 "fuzz_interleave: the target is not built with libFuzzer");
  expect_refusal(3, "holdfast fuzz --dir /dev/null/x", "/dev/null/x: cannot be made");
  expect_refusal(2, "holdfast fuzz --seeds nowhere", "nowhere: cannot be read");
  expect_refusal(2, "holdfast fuzz-worker", "fuzz-worker needs a job");
  EXPECT_EQ(shell("holdfast --help").out.find("fuzz-worker"), std::string::npos);
}

TEST_F(Campaign, RefusesDamagedFolders) {
  fs::create_directories(path("a/corpus"));
  write("a/corpus/swarm", "no folder");
  expect_refusal(2, kFuzz + std::string{"--for 1s --dir a"}, "a/corpus/swarm: cannot be read");
  fs::create_directories(path("b/corpus/swarm"));
  write("b/corpus/swarm/0123", "no program");
  expect_refusal(2,
                 kFuzz + std::string{"--for 1s --dir b"},
                 "b/corpus/swarm/0123: is a damaged unit of swarm");
  fs::create_directories(path("c"));
  write("c/state.json", "{");
  expect_refusal(2, kFuzz + std::string{"--for 1s --dir c --resume"}, "c/state.json: is damaged");
}

TEST_F(Campaign, SaysThatTheDiskIsFull) {
  // No file can grow beyond a kilobyte: as if the disk were full.
  Outcome const outcome = shell("ulimit -f 1; " + std::string{kFuzz} + "--for 5s --dir c");
  EXPECT_EQ(outcome.code, 3) << outcome.out;
  EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot be written: File too large"), std::string::npos)
      << outcome.err;
}

TEST_F(Campaign, OneSupervisorHasAFolder) {
  Outcome const outcome = during(
      "--for 4s --workers 1 --dir c",
      kUntilUnits + std::string{"holdfast fuzz --resume --dir c; echo code $?\nwait $campaign"});
  EXPECT_NE(outcome.err.find("c: another campaign runs there"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("code 3"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::test
