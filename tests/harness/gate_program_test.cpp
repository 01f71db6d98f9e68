// SPDX-License-Identifier: Apache-2.0
// Goal: `holdfast gate` passes what holds, fails and names what does not, and its commands really
// show it again. Method: the program that was built, in the repository and outside.
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <map>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

constexpr char const* kGate =
    "holdfast gate --seed 7 --budget 1s --corpus " HOLDFAST_SOURCE_DIR "/corpus";

std::string only(std::vector<std::string> const& parts) {
  std::string words = kGate;
  for (std::string const& part : parts) {
    words += " --only " + part;
  }
  return words;
}

TEST_F(Program, GateHoldsAndSaysWhatItDid) {
  Outcome const outcome = shell(only({"canary", "corpus", "geometries", "random"}) + " --json");
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  Json const json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("holds"), true);
  EXPECT_EQ(json.at("seed"), 7);
  EXPECT_EQ(json.at("failed"), 0);
  std::map<std::string, int> parts;
  for (Json const& one : json.at("results")) {
    ++parts[one.at("part").get<std::string>()];
  }
  EXPECT_EQ(parts["canary"], 3);
  EXPECT_GT(parts["corpus"], 100);
  EXPECT_GT(parts["geometries"], 20);
  EXPECT_EQ(parts["random"], 1);
  EXPECT_EQ(parts.size(), 4U);
}

TEST_F(Program, GateNamesABugAndItsCommandsShowIt) {
  Outcome const outcome = shell(only({"canary", "corpus", "random", "exhaustive"}) +
                                " --mutant two_plane_snapshot --junit gate.xml --json");
  ASSERT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  Json const json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("mutant"), "two_plane_snapshot");
  std::map<std::string, std::string> commands;  // the first of each part
  for (Json const& one : json.at("results")) {
    if (!one.at("holds").get<bool>()) {
      commands.try_emplace(one.at("part").get<std::string>(),
                           one.at("reproduce").get<std::string>());
    }
  }
  EXPECT_EQ(commands.size(), 3U) << "the canary is as it was: " << json.dump(2);
  for (auto const& [part, command] : commands) {
    EXPECT_NE(command.find("--mutant two_plane_snapshot"), std::string::npos) << command;
    EXPECT_EQ(shell(command).code, 1) << part << ": " << command;
  }
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(path("gate.xml").string(), tree);
  EXPECT_EQ(tree.get<int>("testsuites.<xmlattr>.failures"), json.at("failed").get<int>());
  EXPECT_EQ(tree.get<int>("testsuites.<xmlattr>.tests"), json.at("cases").get<int>());
}

TEST_F(Program, GateSaysThatItsFixedPartsAreNotCutShort) {
  std::string const parts = "holdfast gate --seed 7 --only determinism --only random --budget ";
  Outcome const over = shell(parts + "1s");
  EXPECT_EQ(over.code, 0) << over.err;
  EXPECT_NE(over.out.find("budget       1 s, exceeded by what is never cut short\n"),
            std::string::npos)
      << over.out;
  Outcome const within = shell("holdfast gate --seed 7 --only canary --only random --budget 4s");
  EXPECT_EQ(within.code, 0) << within.err;
  EXPECT_EQ(within.out.find("budget"), std::string::npos) << within.out;
  std::string const help = shell("holdfast gate --help").out;
  EXPECT_EQ(help.find("Most time of all"), std::string::npos) << help;
  EXPECT_NE(help.find("never"), std::string::npos) << help;
}

TEST_F(Program, GateWritesOverNoTrace) {
  fs::create_directory(path("traces"));
  std::string const trace = "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=s0\n";
  write("traces/a.trace", trace);
  expect_refusal(2,
                 "holdfast gate --seed 1 --only corpus --corpus traces --junit traces/a.trace",
                 "traces/a.trace: is read by this command");
  EXPECT_EQ(content_of(path("traces/a.trace")), trace);
}

TEST_F(Program, GateForPeopleEndsWithACommand) {
  Outcome const outcome = shell(only({"random"}) + " --mutant leak_on_drop");
  ASSERT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("mutant       leak_on_drop\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("CONSERVE"), std::string::npos) << outcome.out;
  EXPECT_EQ(shell(last_line(outcome.out)).code, 1) << last_line(outcome.out);
}

TEST_F(Program, GateFailsWhenItsCanariesAreSilent) {
  Outcome const outcome = shell(only({"canary"}) + " --mute-canary --json");
  ASSERT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("failed"), 3);
}

TEST_F(Program, GateRefusesInOneLine) {
  expect_refusal(2, "holdfast gate --seed 1 --budget 1x", "--budget: '1x' is no duration");
  expect_refusal(2, "holdfast gate --seed 1 --budget 0s", "--budget: '0s'");
  expect_refusal(2, "holdfast gate --seed 1 --only corpsu", "did you mean \"corpus\"?");
  expect_refusal(2, "holdfast gate --seed 1 --corpus nowhere", "nowhere: cannot be read");
  fs::create_directory(path("damaged"));
  write("damaged/a.trace", "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequense=s0\n");
  expect_refusal(2, "holdfast gate --seed 1 --corpus damaged", "damaged/a.trace:4:");
  expect_refusal(3, "holdfast gate --seed 1 --junit nowhere/x.xml", "nowhere/x.xml");
  expect_refusal(3, only({"canary"}) + " --junit /dev/full", "/dev/full: cannot be written");
  expect_refusal(3,
                 "cp '" HOLDFAST_BIN_DIR
                 "/holdfast' lonely && ./lonely gate --seed 1 --only mutants",
                 "holdfast-mutants");
}

TEST_F(Program, GateTakesTheCommitAsItsSeed) {
  Outcome const outside = shell("holdfast gate --only canary --json");
  EXPECT_EQ(outside.code, 0) << outside.err;
  EXPECT_EQ(Json::parse(outside.out).at("seed"), 1);
  EXPECT_NE(outside.err.find("no git commit here; the seed is 1"), std::string::npos);
  std::string const commit =
      "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x";
  ASSERT_EQ(shell(commit).code, 0);
  Outcome const inside = shell("holdfast gate --only canary --json");
  EXPECT_EQ(inside.err, "");
  std::string const hash = shell("git rev-parse HEAD").out.substr(0, 16);
  EXPECT_EQ(Json::parse(inside.out).at("seed").get<std::uint64_t>(),
            std::stoull(hash, nullptr, 16));
}

}  // namespace
}  // namespace holdfast::test
