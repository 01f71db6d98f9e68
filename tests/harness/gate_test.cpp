// SPDX-License-Identifier: Apache-2.0
// Goal: a case of the gate is never lost, whatever its process does, and the report is XML. Method:
// parts that hold, fail, crash, hang and leave; an XML reader of another hand.
#include "fuzz/gate.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz/child.hpp"
#include "fuzz/gate_checks.hpp"

namespace holdfast::test {
namespace {

using fuzz::GateCase;
using fuzz::GateVoice;

std::vector<GateCase> run(std::vector<fuzz::GatePart> parts) {
  double now = 0;
  return fuzz::run_gate(
      {.parts = std::move(parts), .jobs = 2, .hang_seconds = 1, .now = [&] { return now += 1; }});
}

TEST(Gate, TellsEveryCaseInOrder) {
  std::vector<GateCase> const cases = run({{"slow",
                                            [](GateVoice& voice) {
                                              voice.begin("one", "command 1");
                                              usleep(100'000);
                                              voice.end("");
                                              voice.begin("two", "command 2");
                                              voice.end("broke\nhere", "better");
                                            }},
                                           {"quick", [](GateVoice& voice) {
                                              voice.begin("three", "command 3");
                                              voice.end("");
                                            }}});
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[0].part, "slow");
  EXPECT_EQ(cases[0].failure, "");
  EXPECT_EQ(cases[1].name, "two");
  EXPECT_EQ(cases[1].failure, "broke\nhere");
  EXPECT_EQ(cases[1].reproduce, "better");
  EXPECT_EQ(cases[2].name, "three");
  EXPECT_GT(cases[2].seconds, 0);
}

TEST(Gate, ACrashIsOfTheCaseThatItWasAt) {
  std::vector<GateCase> const cases = run({{"crash",
                                            [](GateVoice& voice) {
                                              voice.begin("one", "command 1");
                                              voice.end("");
                                              voice.begin("two", "command 2");
                                              std::raise(SIGKILL);
                                            }},
                                           {"hang",
                                            [](GateVoice& voice) {
                                              voice.begin("three", "command 3");
                                              while (true) {
                                                pause();
                                              }
                                            }},
                                           {"between",
                                            [](GateVoice& voice) {
                                              voice.begin("four", "command 4");
                                              voice.end("");
                                              throw std::runtime_error{"between two cases"};
                                            }},
                                           {"whole", [](GateVoice& voice) {
                                              voice.begin("five", "command 5");
                                              voice.end("");
                                            }}});
  ASSERT_EQ(cases.size(), 6U);
  EXPECT_EQ(cases[1].failure, "crashed with signal 9");
  EXPECT_EQ(cases[1].reproduce, "command 2");
  EXPECT_EQ(cases[2].failure, "did not end within 1 s");
  EXPECT_EQ(cases[4].part, "between");
  EXPECT_EQ(cases[4].failure, "ended with exit code 1 in the middle");
  EXPECT_EQ(cases[5].failure, "");
}

TEST(Gate, JunitIsReadByOthers) {
  std::vector<GateCase> const cases = {
      {.part = "a", .name = "holds", .seconds = 1.5},
      {.part = "a",
       .name = "<\"&'>\x01\xff",
       .failure = "row 1 < 2 & \"x\"\nline ]]> two",
       .reproduce = "holdfast run 'a b'"},
      {.part = "b", .name = "left out", .skipped = "no such device"},
  };
  std::istringstream text{fuzz::junit_of(cases, 2)};
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(text, tree);
  auto const& root = tree.get_child("testsuites");
  EXPECT_EQ(root.get<int>("<xmlattr>.tests"), 3);
  EXPECT_EQ(root.get<int>("<xmlattr>.failures"), 1);
  std::vector<std::string> names;
  std::string failure;
  for (auto const& [suite_tag, suite] : root) {
    for (auto const& [tag, one] : suite) {
      if (tag == "testcase") {
        names.push_back(one.get<std::string>("<xmlattr>.name"));
        failure += one.get<std::string>("failure", "");
      }
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"holds", "<\"&'>??", "left out"}));
  EXPECT_EQ(failure, "row 1 < 2 & \"x\"\nline ]]> two\nreproduce with:\nholdfast run 'a b'");
}

TEST(Chains, NameTheFirstOperationThatDiffers) {
  fuzz::Chains chains{model::load_geometry("tiny"), 7};
  fuzz::Chain const one = chains.of(0);
  EXPECT_EQ(fuzz::first_difference(one, chains.of(0)), std::nullopt);
  EXPECT_EQ(chains.operation(0, 0).rfind("create", 0), 0U);
  EXPECT_EQ(chains.operation(0, one.size() - 1), "the visible bytes at the end");
  fuzz::Chain other = one;
  other[3] += 1;
  EXPECT_EQ(fuzz::first_difference(one, other), 3U);
  other.resize(2);
  EXPECT_EQ(fuzz::first_difference(one, other), 2U);
  EXPECT_NE(fuzz::first_difference(one, chains.of(1)), std::nullopt);
}

TEST(Gate, StopsWhereItIs) {
  int asked = 0;
  std::vector<GateCase> const cases = fuzz::run_gate(
      {.parts = {{"slow",
                  [](GateVoice& voice) {
                    voice.begin("one", "command 1");
                    voice.end("");
                    voice.begin("two", "command 2");
                    pause();
                  }},
                 {"never", [](GateVoice& voice) { voice.begin("three", "command 3"); }}},
       .now = [] { return 0; },
       .should_stop = [&] { return ++asked > 8; }});
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].skipped, "");
  EXPECT_EQ(cases[1].name, "two");
  EXPECT_EQ(cases[1].skipped, "interrupted");
  EXPECT_EQ(cases[1].failure, "");
}

TEST(Child, LeavesInterruptsToItsParent) {
  pid_t const child = fuzz::start_child([] {
    for (int const signal : {SIGINT, SIGTERM, SIGHUP}) {
      std::raise(signal);
    }
    return 7;
  });
  int const status = fuzz::wait_for_child(child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace holdfast::test
