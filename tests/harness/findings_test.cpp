// SPDX-License-Identifier: Apache-2.0
// Goal: a failure is in exactly one bucket, whatever is written, merged or killed, and the best
// reproducers stay. Method: folders of findings, written, read again, damaged.
#include "fuzz/findings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/campaign/recover.hpp"
#include "fuzz/files.hpp"
#include "models/input_error.hpp"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;
using fuzz::Finding;
using fuzz::Findings;
using fuzz::Lifecycle;

class FindingsFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/holdfast-findings-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

std::string trace_of(std::uint32_t appends) {
  std::string text = "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=s0\n";
  for (std::uint32_t i = 0; i < appends; ++i) {
    text += "append sequence=s0 rows=1 token=" + std::to_string(i + 1) + " piece=0 view=0\n";
  }
  return text;
}

Finding finding(std::string const& id, std::uint32_t appends, double seconds) {
  return {.signature = {.id = id, .operation = "append", .frames = {}},
          .causes = {},
          .text = "s0: one \"row\" short",
          .target = "swarm",
          .seed = 7,
          .commit = "abc",
          .mutant = "",
          .seen = 100,
          .reproducer = {.bytes = trace_of(appends),
                         .operations = appends + std::uint64_t{1},
                         .seconds = seconds}};
}

TEST_F(FindingsFolder, OneBucketForEachSignatureKeepsShortestAndFastest) {
  {
    Findings findings{folder_ / "f"};
    findings.add(finding("LEN", 3, 0.5));
    findings.add(finding("LEN", 5, 0.1));
    findings.add(finding("LEN", 2, 0.9));
    findings.add(finding("PROV", 1, 1));
  }
  Findings const read{folder_ / "f"};
  ASSERT_EQ(read.buckets().size(), 2U);
  fuzz::Bucket const& bucket = read.buckets().at("LEN-append");
  EXPECT_EQ(bucket.count, 3U);
  EXPECT_EQ(bucket.state, Lifecycle::kNew);
  EXPECT_EQ(bucket.shortest.operations, 3U);
  EXPECT_EQ(bucket.shortest.bytes, trace_of(2));
  EXPECT_EQ(bucket.fastest.bytes, trace_of(5));
  EXPECT_EQ(bucket.fastest.seconds, 0.1);
  EXPECT_EQ(bucket.first.text, "s0: one \"row\" short");
  EXPECT_EQ(bucket.first.seed, 7U);
}

TEST_F(FindingsFolder, ATraceIsBetterThanBytes) {
  Finding raw = finding("LEN", 1, 0);
  raw.reproducer = {.bytes = "x", .is_trace = false, .operations = 1};
  Findings findings{folder_ / "f"};
  findings.add(raw);
  EXPECT_TRUE(fs::exists(folder_ / "f/LEN-append/shortest.bin"));
  findings.add(finding("LEN", 9, 0.5));
  findings.add(raw);
  EXPECT_FALSE(fs::exists(folder_ / "f/LEN-append/shortest.bin"));
  EXPECT_FALSE(fs::exists(folder_ / "f/LEN-append/fastest.bin"));
  fuzz::Bucket const bucket = Findings{folder_ / "f"}.buckets().at("LEN-append");
  EXPECT_EQ(bucket.count, 3U);
  EXPECT_EQ(bucket.shortest.bytes, trace_of(9));
  EXPECT_EQ(bucket.fastest.bytes, trace_of(9));
}

TEST_F(FindingsFolder, OneCauseIsOneBucket) {
  Findings findings{folder_ / "f"};
  Finding one = finding("LEN", 3, 0.5);
  Finding two = finding("PROV", 1, 0.1);
  one.causes = {"LEN-append", "IMMUT-snapshot"};
  two.causes = {"PROV-fork", "IMMUT-snapshot"};
  EXPECT_EQ(findings.add(one), "LEN-append");
  EXPECT_EQ(findings.add(two), "LEN-append");
  EXPECT_EQ(findings.add(finding("PROV", 1, 0.1)), "PROV-append") << "its cause is not known";
  Findings const read{folder_ / "f"};
  EXPECT_EQ(read.buckets().size(), 2U);
  EXPECT_EQ(read.buckets().at("LEN-append").count, 2U);
  EXPECT_EQ(read.buckets().at("LEN-append").shortest.bytes, trace_of(3)) << "it shows LEN";
}

TEST_F(FindingsFolder, LivesThroughCampaigns) {
  Findings findings{folder_ / "f"};
  auto const state = [&] { return Findings{folder_ / "f"}.buckets().at("LEN-append").state; };
  findings.add(finding("LEN", 1, 1));
  EXPECT_EQ(state(), Lifecycle::kNew);
  findings.age();
  findings.add(finding("LEN", 1, 1));
  EXPECT_EQ(state(), Lifecycle::kKnown);
  findings.note_replay("LEN-append", true);
  EXPECT_EQ(state(), Lifecycle::kKnown);
  findings.note_replay("LEN-append", false);
  EXPECT_EQ(state(), Lifecycle::kFixed);
  findings.add(finding("LEN", 1, 1));
  EXPECT_EQ(state(), Lifecycle::kRegression);
  findings.note_replay("LEN-append", false);
  findings.note_replay("LEN-append", true);
  EXPECT_EQ(state(), Lifecycle::kRegression);
}

TEST_F(FindingsFolder, MergesEachBucketOnce) {
  Findings one{folder_ / "one"};
  Findings two{folder_ / "two"};
  one.add(finding("LEN", 3, 0.2));
  two.add(finding("LEN", 1, 0.5));
  two.add(finding("PROV", 1, 0.5));
  one.merge(two);
  Findings const read{folder_ / "one"};
  ASSERT_EQ(read.buckets().size(), 2U);
  fuzz::Bucket const& bucket = read.buckets().at("LEN-append");
  EXPECT_EQ(bucket.count, 2U);
  EXPECT_EQ(bucket.shortest.bytes, trace_of(1));
  EXPECT_EQ(bucket.fastest.bytes, trace_of(3));
  EXPECT_EQ(two.buckets().size(), 2U);
}

TEST_F(FindingsFolder, SurvivesWhatAKillLeavesBehind) {
  {
    Findings findings{folder_ / "f"};
    findings.add(finding("LEN", 3, 0.5));
  }
  // A bucket that was being made, and a reproducer that is newer than what is said of it.
  fs::create_directory(folder_ / "f" / (std::string{fuzz::kUnfinished} + "PROV-append"));
  std::ofstream{folder_ / "f" / "LEN-append" / "shortest.trace"} << trace_of(1);
  Findings findings{folder_ / "f"};
  ASSERT_EQ(findings.buckets().size(), 1U);
  EXPECT_EQ(findings.buckets().at("LEN-append").shortest.operations, 2U);
  findings.add(finding("PROV", 1, 1));
  EXPECT_EQ(Findings{folder_ / "f"}.buckets().size(), 2U);
}

TEST_F(FindingsFolder, NamesADamagedFile) {
  {
    Findings findings{folder_ / "f"};
    findings.add(finding("LEN", 3, 0.5));
  }
  auto const complaint = [&] {
    try {
      Findings const read{folder_ / "f"};
    } catch (model::InputError const& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  std::ofstream{folder_ / "f" / "LEN-append" / "fastest.trace"} << "holdfast-trace 1\n";
  EXPECT_NE(complaint().find("fastest.trace"), std::string::npos) << complaint();
  std::ofstream{folder_ / "f" / "LEN-append" / "finding.json"} << "{\n";
  EXPECT_NE(complaint().find("finding.json: is damaged"), std::string::npos) << complaint();
  fs::remove(folder_ / "f" / "LEN-append" / "finding.json");
  EXPECT_NE(complaint().find("finding.json: cannot be read"), std::string::npos) << complaint();
}

TEST_F(FindingsFolder, WhatCannotBeWrittenIsAnError) {
  Findings findings{folder_ / "f"};
  findings.add(finding("LEN", 3, 0.5));
  std::ofstream{folder_ / "no_folder"} << "";
  EXPECT_THROW(fuzz::write_whole("/dev/full/x", "x"), fuzz::FileError);
  EXPECT_THROW(fuzz::make_folder(folder_ / "no_folder" / "x"), fuzz::FileError);
  EXPECT_EQ(Findings{folder_ / "f"}.buckets().size(), 1U);
}

// What failed may be how the input says its operations.
TEST_F(FindingsFolder, AnInputWhoseOperationsHoldIsKeptAsItStands) {
  fs::create_directories(folder_);
  std::string const path = (folder_ / "input").string();
  std::string const text = "# of another program\r\r\n" + trace_of(2);
  std::ofstream{path} << text;
  Finding const found = fuzz::recover({.kind = fuzz::JobKind::kRecover,
                                       .target = "fuzz_trace_text",
                                       .input = path,
                                       .death = "EXIT 77",
                                       .log = "one reads as another\n==1== ERROR: libFuzzer: "
                                              "deadly signal\n"})
                            .finding;
  EXPECT_FALSE(found.reproducer.is_trace);
  EXPECT_EQ(found.reproducer.bytes, text);
  EXPECT_EQ(found.text, "one reads as another");
}

TEST(FindingText, PassesThroughItsFile) {
  Finding const before = finding("LEN", 3, 0.5);
  Finding const after = fuzz::parse_finding(fuzz::print_finding(before), "x");
  EXPECT_EQ(after.signature, before.signature);
  EXPECT_EQ(after.text, before.text);
  EXPECT_EQ(after.reproducer.bytes, before.reproducer.bytes);
  EXPECT_EQ(after.reproducer.operations, 4U);
  EXPECT_EQ(fuzz::print_finding(after), fuzz::print_finding(before));
  EXPECT_THROW(static_cast<void>(fuzz::parse_finding("{}", "x")), model::InputError);
  Finding raw = before;
  raw.reproducer = {.bytes = std::string{"\xF5\0\xFF\n", 4}, .is_trace = false, .operations = 4};
  Finding const read = fuzz::parse_finding(fuzz::print_finding(raw), "x");
  EXPECT_EQ(read.reproducer.bytes, raw.reproducer.bytes);
  EXPECT_FALSE(read.reproducer.is_trace);
  EXPECT_EQ(read.reproducer.operations, 4U);
}

TEST(SignatureText, TakesTheFirstStatementThatBroke) {
  EXPECT_EQ(fuzz::first_id({"COMPARE", "LEN", "PROV"}), "LEN");
  EXPECT_EQ(fuzz::first_id({"COMPARE"}), "COMPARE");
  EXPECT_EQ(fuzz::bucket_name({.id = "SIGNAL 11", .operation = "fork", .frames = {}}),
            "SIGNAL_11-fork");
  EXPECT_EQ(fuzz::bucket_name({.id = "HANG", .operation = "", .frames = {}}), "HANG");
  std::string const one = fuzz::bucket_name({.id = "X", .operation = "", .frames = {"a", "b"}});
  EXPECT_NE(one, fuzz::bucket_name({.id = "X", .operation = "", .frames = {"a", "c"}}));
  EXPECT_EQ(one.rfind("X-", 0), 0U);
}

TEST(SignatureText, FramesDependOnNeitherAddressesNorLines) {
  std::string const report =
      "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x60\n"
      "READ of size 4 at 0x60 thread T0\n"
      "    #0 0x4a5b6c in __asan_memcpy (/bin/x+0x1)\n"
      "    #1 0x4a5b6d in holdfast::internal::Pool<int>::take(unsigned int) "
      "/src/lib/pool.cpp:10:3\n"
      "    #2 0x4a5b6e in holdfast::(anonymous namespace)::f(std::vector<int> const&) /a.cpp:4:1\n"
      "    #3 0x4a5b6f in main /src/main.cpp:5:1\n"
      "    #4 0x4a5b70 in more /src/main.cpp:5:1\n"
      "\n"
      "freed by thread T0 here:\n"
      "    #0 0x4a5b6c in other /src/main.cpp:5:1\n";
  std::vector<std::string> const expected = {
      "holdfast::internal::Pool::take", "holdfast::{}::f", "main"};
  EXPECT_EQ(fuzz::frames_of(report), expected);
  std::vector<std::string> const undefined = {"ring.cpp: signed integer overflow"};
  EXPECT_EQ(fuzz::frames_of("/src/lib/ring.cpp:8:9: runtime error: signed integer overflow: 1 + 2"),
            undefined);
  EXPECT_TRUE(fuzz::frames_of("nothing # 0x1 in here").empty());
}

}  // namespace
}  // namespace holdfast::test
