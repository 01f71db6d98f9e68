// SPDX-License-Identifier: Apache-2.0
// Engines that die, hang, babble, are slow, eat memory, or write half of a line: the right verdict, and nothing of them is left.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "fuzz/target/engine_runner.hpp"
#include "models/input_error.hpp"

namespace holdfast::test {
namespace {

using model::EngineOp;

EngineOp decode_one() {
  return {.items = {{0, 1, 1, model::Ask::kLast}}};
}

fuzz::Target bad(std::string const& how, double seconds = 20) {
  fuzz::Target target = fuzz::target_of_command({HOLDFAST_BAD_ENGINE, how});
  target.limits = {.seconds = seconds, .start_seconds = 20, .memory = 192ULL << 20U};
  target.tolerance = 1e-3;
  return target;
}

/// Processes that run the bad engine in this way.
int left_over(std::string const& how) {
  int count = 0;
  DIR* const all = opendir("/proc");
  while (dirent const* const entry = readdir(all)) {
    std::ifstream file{std::string{"/proc/"} + entry->d_name + "/cmdline"};
    std::string words;
    std::getline(file, words);
    count += words.find(std::string{"bad_engine"} + '\0' + how + '\0') != std::string::npos ? 1 : 0;
  }
  closedir(all);
  return count;
}

struct Case {
  char const* how;
  char const* oracle;
  char const* says;
};

class BadEngine : public testing::TestWithParam<Case> {};

TEST_P(BadEngine, GetsTheRightVerdict) {
  Case const& one = GetParam();
  {
    fuzz::Target const target = bad(one.how, one.oracle == std::string{"HANG"} ? 1 : 20);
    fuzz::EngineRunner runner{target};
    fuzz::EngineVerdict const verdict = runner.run({.ops = {decode_one()}});
    EXPECT_EQ(verdict.oracle, one.oracle) << verdict.text;
    EXPECT_NE(verdict.text.find(one.says), std::string::npos) << verdict.text;
    std::string const oracle = one.oracle;
    if (oracle == "CRASH" || oracle == "HANG" || oracle == "MEMORY") {
      EXPECT_NE(verdict.text.find("it said: "), std::string::npos) << verdict.text;
    }
    EXPECT_EQ(verdict.at, 0U);
    EXPECT_NE(runner.session().said().find("engine says hello"), std::string::npos);
    EXPECT_EQ(runner.run({.ops = {decode_one()}}).oracle, one.oracle);  // and it is started again
  }
  for (int i = 0; i < 200 && left_over(one.how) != 0; ++i) {
    usleep(10'000);  // a killed process takes a moment
  }
  EXPECT_EQ(left_over(one.how), 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

INSTANTIATE_TEST_SUITE_P(All,
                         BadEngine,
                         testing::Values(Case{"killed", "CRASH", "signal 9"},
                                         Case{"exits", "CRASH", "status 3"},
                                         Case{"hangs", "HANG", "no answer within"},
                                         Case{"babbles", "PROTOCOL", "loading a model"},
                                         Case{"half", "HANG", "it had begun: 'logits 0.5"},
                                         Case{"half_dies", "CRASH", "in the middle of a line"},
                                         Case{"closes", "HANG", "no answer within"},
                                         Case{"shuts", "CRASH", "closed its output"},
                                         Case{"twice", "PROTOCOL", "nobody asked for"},
                                         Case{"nan", "LOGITS", "logit 2 is nan"},
                                         Case{"inf", "LOGITS", "logit 2 is inf"},
                                         Case{"huge", "LOGITS", "logit 2 is -inf"},
                                         Case{"long", "PROTOCOL", "longer than 1 MiB"},
                                         Case{"endless", "PROTOCOL", "longer than 1 MiB"},
                                         Case{"eats", "MEMORY", "memory"}),
                         [](auto const& chosen) { return std::string{chosen.param.how}; });

TEST(BadEngine, ThatIsOnlySlowOrNoisyHolds) {
  for (char const* const how : {"slow", "noisy"}) {
    fuzz::Target const target = bad(how);
    fuzz::EngineRunner runner{target};
    fuzz::EngineVerdict const verdict = runner.run({.ops = {decode_one()}});
    EXPECT_FALSE(verdict.failed()) << verdict.text;
  }
}

TEST(BadEngine, ThatIsWrongAndThenDiesWasWrong) {
  fuzz::Target const target = bad("wrong_then_dies");
  fuzz::EngineRunner runner{target};
  fuzz::EngineVerdict const verdict = runner.run({.ops = {decode_one(), decode_one()}});
  EXPECT_EQ(verdict.oracle, "LOGITS");
  EXPECT_EQ(verdict.at, 0U);
}

TEST(BadEngine, ThatDiesOnlyOnceIsReported) {
  fuzz::Target target = bad("slow");
  std::string const mark = testing::TempDir() + "bad_engine_died_" + std::to_string(getpid());
  target.command.push_back(mark);
  fuzz::EngineRunner runner{target};
  EXPECT_EQ(runner.run({.ops = {decode_one()}}).oracle, "CRASH");
  EXPECT_FALSE(runner.run({.ops = {decode_one()}}).failed());
  unlink(mark.c_str());
}

TEST(EngineProcess, ThatCannotBeRunIsOneLine) {
  fuzz::Target target = fuzz::target_of_command({"/nowhere/engine"});
  target.tolerance = 1e-3;
  fuzz::EngineRunner runner{target};
  EXPECT_THROW(static_cast<void>(runner.session().hello()), model::InputError);
}

TEST(Calibration, RefusesAnEngineWhoseLogitsSayNothing) {
  fuzz::Target target = bad("slow");
  target.tolerance = 0;
  EXPECT_THROW(fuzz::EngineRunner{target}, model::InputError);
}

}  // namespace
}  // namespace holdfast::test
