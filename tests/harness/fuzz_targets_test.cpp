// SPDX-License-Identifier: Apache-2.0
// Goal: the fuzz targets report what they find so that it can be run again, and run their seeds
// clean. Method: the programs that were built, with the main that runs inputs again, plain and with
// a seeded bug.
#include <algorithm>
#include <utility>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

class FuzzTargets : public Program {
 protected:
  [[nodiscard]] Outcome target(std::string const& command) const {
    return shell("PATH='" HOLDFAST_TARGET_DIR "':\"$PATH\"; " + command);
  }
};

TEST_F(FuzzTargets, SeedsAreTheSameEveryTime) {
  for (std::string const name :
       {"fuzz_interleave", "fuzz_async", "fuzz_entry_bytes", "fuzz_trace_text"}) {
    Outcome const made = target(name + " --make-seeds=a --count=30 && " + name +
                                " --make-seeds=b --count=30 && diff -r a b && rm -r b");
    EXPECT_EQ(made.code, 0) << made.out << made.err;
    Outcome const ran = target(name + " a && rm -r a");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find(" inputs, 0 failed"), std::string::npos) << ran.out;
  }
}

TEST_F(FuzzTargets, AFindingIsATraceThatReproduces) {
  Outcome const found = target(
      "mkdir found; fuzz_interleave --make-seeds=seeds --count=60 >made && "
      "fuzz_interleave-mutants --mutant=leak_on_drop --findings=found seeds");
  ASSERT_EQ(found.code, 1) << found.out << found.err;
  EXPECT_EQ(found.err.rfind("# violates CONSERVE", 0), 0U) << found.err;
  EXPECT_NE(found.err.find("mutant: leak_on_drop\nholdfast-trace 1\n"), std::string::npos);
  std::vector<std::string> const lines = lines_of(found.err);
  auto const said = std::find(lines.begin(), lines.end(), "reproduce with:");
  ASSERT_LT(said - lines.begin() + 2, static_cast<std::ptrdiff_t>(lines.size()));
  EXPECT_EQ(said[1].rfind("holdfast replay found/CONSERVE-", 0), 0U) << said[1];
  EXPECT_EQ(said[2].rfind("seeds/seed-", 0), 0U) << said[2];
  Outcome const replayed = shell(said[1]);
  EXPECT_EQ(replayed.code, 1) << replayed.err;
  EXPECT_NE(replayed.out.find("violation of CONSERVE"), std::string::npos) << replayed.out;
  // The input itself reproduces it, too.
  std::string const unit = said[2].substr(0, said[2].find(':'));
  EXPECT_EQ(shell("holdfast replay " + unit + " --mutant leak_on_drop").code, 1);
  EXPECT_EQ(shell("holdfast replay " + unit).code, 0);
}

TEST_F(FuzzTargets, AsyncFindsWhatNothingOrdersAndItsInputsSayWhere) {
  Outcome const found = target(
      "mkdir found; fuzz_async --make-seeds=seeds --count=60 >made && "
      "fuzz_async-mutants --mutant=owner_not_awaited --findings=found seeds");
  ASSERT_EQ(found.code, 1) << found.out << found.err;
  EXPECT_EQ(found.err.rfind("# violates ORDER", 0), 0U) << found.err;
  EXPECT_NE(found.err.find("\ndevice sim "), std::string::npos);
  EXPECT_NE(found.err.find("\n  missing  device 0 stream "), std::string::npos) << found.err;
  std::vector<std::string> const lines = lines_of(found.err);
  auto const said = std::find(lines.begin(), lines.end(), "reproduce with:");
  ASSERT_LT(said - lines.begin() + 2, static_cast<std::ptrdiff_t>(lines.size()));
  EXPECT_EQ(shell(said[1]).code, 1) << said[1];
  std::string const unit = said[2].substr(0, said[2].find(':'));
  EXPECT_EQ(shell("holdfast replay " + unit + " --mutant owner_not_awaited").code, 1);
  EXPECT_EQ(shell("holdfast replay " + unit).code, 0);
  // Some seeds have calls that fail; what runs on the host is no input.
  EXPECT_EQ(shell("holdfast replay seeds/* | grep -q '^fault '").code, 0);
  EXPECT_EQ(target("fuzz_interleave --make-seeds=host --count=60 >made && "
                   "fuzz_async-mutants --mutant=leak_on_drop host")
                .code,
            0);
}

TEST_F(FuzzTargets, EntryBytesSeeTheirMutants) {
  ASSERT_EQ(target("fuzz_entry_bytes --make-seeds=seeds --count=30").code, 0);
  Outcome const found = target("fuzz_entry_bytes-mutants --mutant=entry_leaks_storage seeds");
  EXPECT_EQ(found.code, 1) << found.out;
  EXPECT_NE(found.err.find("an entry left something when it was erased"), std::string::npos)
      << found.err;
}

TEST_F(FuzzTargets, SearchForMutantsBesideTheTool) {
  std::string const search = "./holdfast mutants --search libfuzzer --only leak_on_drop ";
  ASSERT_EQ(
      shell("cp '" HOLDFAST_BIN_DIR "/holdfast' '" HOLDFAST_BIN_DIR "/holdfast-mutants' .").code,
      0);
  expect_refusal(3, search, "fuzz_interleave-mutants: the target is not built with libFuzzer");
  // Nor is the one that only runs inputs again, whatever of the campaign is linked into it.
  ASSERT_EQ(shell("cp '" HOLDFAST_TARGET_DIR "/fuzz_interleave-mutants' .").code, 0);
  expect_refusal(3, search, "fuzz_interleave-mutants: the target is not built with libFuzzer");
  // In the place of libFuzzer, which only clang has: the same target over seeds.
  ASSERT_EQ(target("fuzz_interleave --make-seeds=seeds --count=60").code, 0);
  write("fuzz_interleave-mutants",
        "#!/bin/sh\n# stat::number_of_executed_units: what the engine has in it\n"
        "for word; do case $word in --*) words=\"$words $word\";; esac; done\n"
        "exec '" HOLDFAST_TARGET_DIR "/fuzz_interleave-mutants' $words '" +
            path("seeds").string() + "'\n");
  Outcome const found = shell("chmod +x fuzz_interleave-mutants; " + search + "--repeat 2 --json");
  ASSERT_EQ(found.code, 0) << found.out << found.err;
  Json const json = Json::parse(found.out);
  EXPECT_EQ(json.at("budget"), 500'000);
  Json const& mutant = json.at("mutants").at(0);
  EXPECT_EQ(mutant.at("killed"), 2);
  EXPECT_EQ(mutant.at("reached"), 2);
  EXPECT_EQ(mutant.at("invariants"), Json({"CONSERVE"}));
  EXPECT_GT(mutant.at("operations"), 100);
  // The target keeps to the budget.
  Outcome const cut = shell(search + "--ops 3 --json");
  ASSERT_EQ(cut.code, 1) << cut.out << cut.err;
  EXPECT_EQ(Json::parse(cut.out).at("survivors"), Json({"leak_on_drop"}));
  write("fuzz_interleave-mutants",
        "#!/bin/sh\n# stat::number_of_executed_units\necho 'no such thing'\nexit 2\n");
  expect_refusal(3, search, "left no input: no such thing");
}

TEST_F(FuzzTargets, RefuseWhatIsWrongInOneLine) {
  for (auto const& [command, part] : std::vector<std::pair<std::string, std::string>>{
           {"fuzz_interleave", "give files and folders of inputs"},
           {"fuzz_interleave nowhere", "nowhere: cannot be read"},
           {"fuzz_interleave --repeat=0 x", "--repeat=0: is not followed by a number"},
           {"fuzz_interleave -runs=3 x", "unknown option '-runs=3'"},
           {"fuzz_interleave --budget=some x", "--budget=some: is not followed by a number"},
           {"fuzz_interleave --device=cuda x", "--device=cuda: is not known"},
           {"fuzz_interleave --flight=nowhere/t x",
            "--flight=nowhere/t: cannot be written: No such file"},
           {"fuzz_interleave --tally=nowhere/t x", "nowhere/t: cannot be written: No such file"},
           {"fuzz_interleave --mutant=leak_on_drop x", "its twin with -mutants in its name"}}) {
    Outcome const outcome = target(command);
    EXPECT_EQ(outcome.code, 2) << command;
    EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace holdfast::test
