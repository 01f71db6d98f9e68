// SPDX-License-Identifier: Apache-2.0
// Goal: coverage is kept, added up and gone on from through the program. Method: the program that was
// built, as a user would run it.
#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

using CoverageProgram = Program;

TEST_F(CoverageProgram, RunsAddToAFile) {
  ASSERT_EQ(shell("holdfast run --threads 1 --geometry tiny --ops 2000 --coverage a.json").code, 0);
  Json const first = Json::parse(shell("holdfast coverage a.json --json").out);
  EXPECT_GT(first.at("edges"), 100);
  EXPECT_GT(first.at("states"), 30);
  ASSERT_EQ(
      shell("holdfast run --threads 1 --geometry tiny --ops 2000 --seed 2 --coverage a.json").code,
      0);
  Json const both = Json::parse(shell("holdfast coverage a.json --json").out);
  EXPECT_GT(both.at("edges"), first.at("edges"));
  EXPECT_GT(both.at("programs"), first.at("programs"));
  // The same from two files.
  ASSERT_EQ(
      shell("holdfast run --threads 1 --geometry tiny --ops 2000 --coverage b.json && "
            "holdfast run --threads 1 --geometry tiny --ops 2000 --seed 2 --coverage c.json && "
            "holdfast coverage b.json c.json -o d.json && cmp a.json d.json")
          .code,
      0);
}

TEST_F(CoverageProgram, SaysWhatIsMissingAndGoesOn) {
  ASSERT_EQ(shell("holdfast run --threads 1 --geometry tiny --ops 2000 --coverage a.json && "
                  "holdfast run --threads 1 --geometry tiny --ops 2000 --seed 2 --coverage b.json")
                .code,
            0);
  Outcome const text = shell("holdfast coverage a.json --against b.json");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find(" edges reached ("), std::string::npos) << text.out;
  Json const before = Json::parse(shell("holdfast coverage a.json --against b.json --json").out);
  EXPECT_FALSE(before.at("against").at("missing").empty());
  EXPECT_FALSE(before.at("unseen").empty());
  Outcome const pushed = shell("holdfast coverage a.json --seeds seeds -o c.json --json");
  ASSERT_EQ(pushed.code, 0) << pushed.err;
  Json const after = Json::parse(pushed.out);
  EXPECT_GT(after.at("frontier").at("seeds"), 0);
  EXPECT_LT(after.at("unseen").size(), before.at("unseen").size());
  // The seeds are inputs like others, and bring what was found.
  EXPECT_EQ(shell("holdfast replay seeds").code, 0);
  Json const again =
      Json::parse(shell("holdfast coverage a.json --replay seeds --against c.json --json").out);
  EXPECT_TRUE(again.at("against").at("missing").empty()) << again;
}

TEST_F(CoverageProgram, RunsEveryShortProgram) {
  Json const json = Json::parse(shell("holdfast coverage --exhaustive 1 --json").out);
  EXPECT_GT(json.at("edges"), 50);
}

TEST_F(CoverageProgram, RefusesWhatItCannotUse) {
  write("no.json", "[]");
  write("other.json", "{\"holdfast_coverage\": 7}");
  expect_refusal(2, "holdfast coverage", "coverage needs a file");
  expect_refusal(2, "holdfast coverage nowhere.json", "nowhere.json: cannot be read: No such file");
  expect_refusal(2, "holdfast coverage no.json", "no.json");
  expect_refusal(2, "holdfast coverage other.json", "other.json");
  expect_refusal(2, "holdfast coverage --replay nowhere", "nowhere");
  expect_refusal(2, "holdfast coverage --exhaustive 0", "--exhaustive: '0'");
  expect_refusal(2, "holdfast run --ops 100 --coverage no.json", "no.json");
  expect_refusal(3, "holdfast run --ops 100 --coverage nowhere/a.json", "nowhere/a.json");
  expect_refusal(3, "holdfast coverage --exhaustive 1 -o nowhere/a.json", "nowhere/a.json");
}

TEST_F(CoverageProgram, LosesNothingWhereItCannotWrite) {
  Outcome const full = shell("holdfast coverage --exhaustive 1 -o /dev/full");
  EXPECT_EQ(full.code, 3);
  EXPECT_NE(full.out.find("transitions"), std::string::npos) << full.out;
  EXPECT_NE(full.err.find("/dev/full: cannot be written"), std::string::npos) << full.err;
  Outcome const early = shell("holdfast coverage --exhaustive 4 -o /no/such/folder/x");
  EXPECT_EQ(early.code, 3);
  EXPECT_EQ(early.out, "") << "said before any work";

  // What is there stays as it was when the disk is full.
  ASSERT_EQ(shell("holdfast run --threads 1 --geometry tiny --ops 2000 --coverage a.json").code, 0);
  std::string const before = content_of(path("a.json"));
  EXPECT_EQ(shell("ulimit -f 1; trap '' XFSZ; holdfast coverage a.json -o a.json").code, 3);
  EXPECT_EQ(content_of(path("a.json")), before);
}

TEST_F(CoverageProgram, LeavesNothingHalfWritten) {
  std::string const full = "ulimit -f 16; trap '' XFSZ; ";
  std::string const run = "holdfast run --threads 1 --geometry tiny --ops 2000 --coverage ";
  write("a.json.tmp", "somebody's");
  // The report is there all the same, and no file is.
  Outcome const ran = shell(full + run + "a.json");
  EXPECT_EQ(ran.code, 3);
  EXPECT_NE(ran.out.find("0 violations"), std::string::npos) << ran.out;
  EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
  EXPECT_EQ(shell(full + "holdfast coverage --exhaustive 1 -o new.json").code, 3);
  EXPECT_EQ(shell("ls -A").out, "a.json.tmp\nstderr.txt\nstdout.txt\n");
  EXPECT_EQ(shell(run + "a.json").code, 0);
  EXPECT_EQ(content_of(path("a.json.tmp")), "somebody's");
  EXPECT_EQ(shell(run + "/dev/full").code, 3);
  // Any name that a file may have will do, and who may read it is the user's to say.
  std::string const longest(255, 'x');
  EXPECT_EQ(shell("umask 0002; holdfast coverage a.json -o " + longest).code, 0);
  EXPECT_EQ(shell("stat -c %a " + longest).out, "664\n");
}

TEST_F(CoverageProgram, WritesOverNothingThatItReads) {
  std::string const trace = "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=s0\n";
  fs::create_directory(path("traces"));
  write("traces/x.trace", trace);
  ASSERT_EQ(shell("holdfast run --threads 1 --geometry tiny --ops 2000 --coverage a.json").code, 0);
  std::string const known = content_of(path("a.json"));
  expect_refusal(2,
                 "holdfast coverage --replay traces -o traces/x.trace",
                 "traces/x.trace: is read by this command");
  expect_refusal(2,
                 "holdfast coverage --exhaustive 1 --against a.json -o a.json",
                 "a.json: is read by this command");
  expect_refusal(2,
                 "holdfast run --ops 100 --coverage a.json --save a.json",
                 "a.json: is read by this command");
  expect_refusal(2,
                 "holdfast run --ops 100 --coverage new.json --save ./new.json",
                 "new.json: is read by this command");
  EXPECT_EQ(content_of(path("traces/x.trace")), trace);
  EXPECT_EQ(content_of(path("a.json")), known);
  fs::copy_file(HOLDFAST_SOURCE_DIR "/models/geometry/tiny.json", path("my.json"));
  std::string const geometry = content_of(path("my.json"));
  expect_refusal(2,
                 "holdfast run --geometry my.json --mutant two_plane_snapshot --save my.json",
                 "my.json: is read by this command");
  EXPECT_EQ(content_of(path("my.json")), geometry);
  // Seeds that are run stay beside those that they lead to.
  ASSERT_EQ(shell("holdfast coverage a.json --seeds seeds && cp -r seeds before").code, 0);
  ASSERT_EQ(shell("holdfast coverage --replay seeds --seeds seeds").code, 0);
  EXPECT_EQ(shell("for f in before/*; do cmp $f seeds/${f#before/} || exit 1; done").code, 0);
}

TEST_F(CoverageProgram, PassesOverOperationsThatMakeNoSense) {
  ASSERT_EQ(shell("holdfast run --threads 1 --geometry tiny --ops 2000 --coverage a.json").code, 0);
  Json hostile = Json::parse(content_of(path("a.json")));
  for (Json& state : hostile.at("states")) {
    state.at("witness") =
        "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=s0\n"
        "leave items=append:s0:1:0:1 item=4294967295 via=0 piece=0 view=0\n"
        "step items=append:s0:1:4294967295:1 piece=0 view=0\n";
  }
  write("b.json", hostile.dump());
  Outcome const outcome = shell("holdfast coverage b.json --seeds seeds");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(CoverageProgram, NamesWhatCannotBeRunHere) {
  ASSERT_EQ(shell("holdfast run --threads 1 --geometry tiny --ops 2000 --coverage a.json").code, 0);
  Json foreign = Json::parse(content_of(path("a.json")));
  for (Json& state : foreign.at("states")) {
    state.at("witness") = "holdfast-trace 1\ngeometry elsewhere\ndevice host\ncreate sequence=s0\n";
  }
  write("b.json", foreign.dump());
  Outcome const outcome = shell("holdfast coverage b.json --seeds seeds --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
  EXPECT_NE(outcome.err.find("geometry 'elsewhere' cannot be run here"), std::string::npos);
  Json const json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("frontier").at("unusable"), Json({"elsewhere"}));
  EXPECT_EQ(json.at("frontier").at("aimed_at"), 0);
}

}  // namespace
}  // namespace holdfast::test
