// SPDX-License-Identifier: Apache-2.0
// Goal: what lies in a campaign's folder is neither lost nor believed blindly, whoever was killed, moved
// it, or put something there. Method: the program that was built, on folders as such moments leave them.
#include <algorithm>
#include <functional>
#include <string>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

constexpr char const* kGoOn = "holdfast fuzz --seed 1 --targets swarm --workers 1 ";
constexpr char const* kMutant = " --mutant birth_not_zeroed";

class CampaignFolder : public Program {
 protected:
  /// A campaign of a second that found nothing.
  void begin(std::string const& name) const {
    Outcome const outcome = shell(kGoOn + ("--for 1s --dir " + name));
    ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  }
  [[nodiscard]] Outcome go_on(std::string const& name,
                              std::string const& words = "",
                              int seconds = 2) const {
    return shell(kGoOn + ("--resume --json --dir " + name + " --for " + std::to_string(seconds) +
                          "s " + words));
  }
  void change(std::string const& file, std::function<void(Json& json)> const& how) const {
    Json json = Json::parse(content_of(path(file)));
    how(json);
    write(file, json.dump());
  }
  /// As if a supervisor had been killed while this job waited.
  void add_job(std::string const& name,
               int kind,
               std::string const& target,
               std::string const& input) const {
    change(name + "/state.json", [&](Json& state) {
      state["jobs"].push_back({{"kind", kind},
                               {"target", target},
                               {"seed", 1},
                               {"lease", 0},
                               {"seconds", 1.0},
                               {"root", "/elsewhere"},
                               {"work", "/elsewhere/0"},
                               {"commit", ""},
                               {"mutant", ""},
                               {"mute_canary", false},
                               {"program", nullptr},
                               {"input", input},
                               {"death", "SIGNAL 6"},
                               {"log", ""}});
    });
  }
  [[nodiscard]] std::string a_unit(std::string const& name) const {
    return fs::directory_iterator {
      path(name + "/corpus/swarm")
      } -> path().filename().string();
  }
};

constexpr int kRun = 0;
constexpr int kRecover = 2;
constexpr int kCheck = 3;

TEST_F(CampaignFolder, AFindingThatWasTakenAwayIsMetAgain) {
  ASSERT_EQ(shell(kGoOn + std::string{"--for 1s --dir c"} + kMutant).code, 1);
  fs::remove_all(path("c/findings"));
  Outcome const outcome = go_on("c", kMutant);
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("findings").size(), 1U);
}

TEST_F(CampaignFolder, AnInputThatNoJobIsAboutIsLookedAt) {
  begin("c");
  write("c/artifacts/fuzz_trace_text-0123456789abcdef", "what killed it");
  Outcome const outcome = go_on("c");
  ASSERT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  Json const finding = Json::parse(outcome.out).at("findings").at(0);
  EXPECT_EQ(finding.at("id"), "DIED");
  EXPECT_EQ(finding.at("target"), "fuzz_trace_text");
  EXPECT_TRUE(fs::is_empty(path("c/artifacts")));
  write("c/artifacts/0123.trace", "of nobody knows which target");
  EXPECT_EQ(go_on("c", "", 3).code, 1);
  EXPECT_TRUE(fs::is_empty(path("c/artifacts")));
  EXPECT_EQ(go_on("c", "", 3).code, 1);  // the folder can be read
}

TEST_F(CampaignFolder, AJobWhoseInputWasHandedOverIsDone) {
  begin("c");
  add_job("c", kRecover, "fuzz_interleave", "/elsewhere/artifacts/36b351bed092965e.trace");
  EXPECT_EQ(go_on("c").code, 0);
  // Two died of one input.
  write("c/artifacts/fuzz_trace_text-0123456789abcdef", "what killed them");
  for (int i = 0; i < 2; ++i) {
    add_job(
        "c", kRecover, "fuzz_trace_text", "/elsewhere/artifacts/fuzz_trace_text-0123456789abcdef");
  }
  Outcome const outcome = go_on("c", "", 4);
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("findings").size(), 1U);
}

TEST_F(CampaignFolder, GoesOnWhereItWasMovedTo) {
  begin("c");
  write("c/artifacts/fuzz_trace_text-0123456789abcdef", "what killed it");
  add_job("c", kRecover, "fuzz_trace_text", path("c/artifacts/fuzz_trace_text-0123456789abcdef"));
  add_job("c", kRun, "swarm", "");
  fs::rename(path("c"), path("d"));
  Outcome const outcome = go_on("d");
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("findings").at(0).at("id"), "SIGNAL 6");
  EXPECT_FALSE(fs::exists(path("c")));
}

TEST_F(CampaignFolder, JobsOfOtherTargetsWait) {
  begin("c");
  add_job("c", kRun, "fuzz_trace_text", "");
  Outcome const outcome = go_on("c");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(Json::parse(outcome.out).at("targets").contains("fuzz_trace_text"));
}

TEST_F(CampaignFolder, ChecksWaitForABuildWithSanitizers) {
  begin("c");
  add_job("c", kCheck, "swarm", "/elsewhere/corpus/swarm/" + a_unit("c"));
  EXPECT_EQ(go_on("c").code, 0);
  write("silent", "#!/bin/sh\nexit 3\n");
  add_job("c", kCheck, "swarm", "/elsewhere/corpus/swarm/" + a_unit("c"));
  expect_refusal(
      3,
      "chmod +x silent; " + std::string{kGoOn} + "--for 9s --resume --dir c --sanitized ./silent",
      "a worker for swarm ended with EXIT 3 and could not say why");
  expect_refusal(3, kGoOn + std::string{"--dir new --sanitized c"}, "c: is no program");
  expect_refusal(3, kGoOn + std::string{"--dir new --sanitized silent.sh"}, "is not there");
}

TEST_F(CampaignFolder, WhatIsNoUnitIsNotCopied) {
  Outcome const outcome =
      shell("mkdir -p ex/swarm/folder; mkfifo ex/swarm/pipe; echo junk >ex/swarm/junk; " +
            std::string{kGoOn} + "--for 1s --dir c --exchange ex");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("ex/swarm/junk: is a damaged unit of swarm, and is passed over"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
  EXPECT_FALSE(fs::exists(path("c/corpus/swarm/junk")));
  EXPECT_EQ(go_on("c").code, 0);
  expect_refusal(2,
                 kGoOn + std::string{"--for 1s --dir d --seeds ex"},
                 "ex/swarm/junk: is a damaged unit of swarm");
  EXPECT_EQ(shell(kGoOn + std::string{"--for 1s --dir d"}).code, 0);
}

TEST_F(CampaignFolder, MergesAllOrNothing) {
  begin("a");
  expect_refusal(2, "holdfast fuzz --collect a --collect nowhere --dir all", "nowhere/state.json");
  EXPECT_FALSE(fs::exists(path("all/corpus")));
  expect_refusal(2, "holdfast fuzz --collect a --collect a/. --dir all", "a/.: is named twice");
  fs::create_directories(path("some/findings"));
  expect_refusal(2, "holdfast fuzz --collect a --dir some", "some: has findings");
  expect_refusal(2, "holdfast fuzz --collect a --dir all --resume", "--resume: --collect merges");
  expect_refusal(
      3, "flock a/lock holdfast fuzz --collect a --dir all", "a: its campaign still runs");
  change("a/state.json",
         [](Json& state) { state["targets"]["../../evil"] = state["targets"]["swarm"]; });
  expect_refusal(2, "holdfast fuzz --collect a --dir all", "'../../evil' is no target");
  EXPECT_FALSE(fs::exists(path("all/corpus")));
}

TEST_F(CampaignFolder, NumbersOfTheWrongKindAreDamage) {
  begin("a");
  std::string const whole = content_of(path("a/state.json"));
  Json const bad[] = {{{"seed", -1}},
                      {{"seed", 1.5}},
                      {{"elapsed", -5}},
                      {{"elapsed", 1e308}},
                      {{"targets", Json::array()}},
                      {{"jobs", Json::object()}}};
  for (Json const& fields : bad) {
    write("a/state.json", whole);
    change("a/state.json", [&](Json& state) { state.update(fields); });
    expect_refusal(2, kGoOn + std::string{"--for 1s --resume --dir a"}, "a/state.json: is damaged");
  }
  write("a/state.json", whole);
  add_job("a", 99, "swarm", "");
  expect_refusal(2, kGoOn + std::string{"--for 1s --resume --dir a"}, "99 is no kind of job");
  write("a/state.json", whole);
  expect_refusal(2, "holdfast fuzz --resume --seed 77 --dir a", "a: is of seed 1");
}

TEST_F(CampaignFolder, ADamagedFindingIsNamed) {
  ASSERT_EQ(shell(kGoOn + std::string{"--for 1s --dir c"} + kMutant).code, 1);
  std::string const bucket = fs::directory_iterator {
    path("c/findings")
    } -> path().filename().string();
  change("c/findings/" + bucket + "/finding.json", [](Json& json) { json["state"] = "weird"; });
  expect_refusal(2,
                 kGoOn + std::string{"--for 1s --resume --dir c"} + kMutant,
                 "c/findings/" + bucket + "/finding.json: is damaged: unknown state 'weird'");
}

// With nothing found, and whatever it was at.
TEST_F(CampaignFolder, StoppedAtOnceIsStopped) {
  for (std::string const seconds : {"0.005", "0.01", "0.02", "0.05", "0.1"}) {
    Outcome const outcome = shell(kGoOn + ("--for 9s --dir c" + seconds + " & sleep " + seconds +
                                           "; kill -TERM $!; wait $!"));
    EXPECT_EQ(outcome.code, 143) << seconds << ": " << outcome.out << outcome.err;
  }
}

}  // namespace
}  // namespace holdfast::test
