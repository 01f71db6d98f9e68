// SPDX-License-Identifier: Apache-2.0
// Goal: `holdfast doctor` tells what is there from what is not, and what that costs. Method: the
// program that was built, with a PATH of our own.
#include <map>
#include <string>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

std::map<std::string, Json> findings_of(Json const& json) {
  std::map<std::string, Json> findings;
  for (Json const& one : json.at("findings")) {
    findings[one.at("name").get<std::string>()] = one;
  }
  return findings;
}

TEST_F(Program, DoctorTellsWhatIsThere) {
  Outcome const made = shell(
      "mkdir -p tools && printf '#!/bin/sh\\necho compute-sanitizer 7\\necho more\\n' "
      "> tools/compute-sanitizer && chmod +x tools/compute-sanitizer");
  ASSERT_EQ(made.code, 0) << made.err;
  std::string const run = "\"$(command -v holdfast)\" doctor";
  Outcome const with = shell("PATH=\"$PWD/tools:$PATH\" " + run + " --json");
  ASSERT_EQ(with.code, 0) << with.err;
  std::map<std::string, Json> found = findings_of(Json::parse(with.out));
  EXPECT_EQ(found.at("compute-sanitizer").at("found"), "compute-sanitizer 7");
  EXPECT_TRUE(found.at("compute-sanitizer").at("left_out").is_null());
  EXPECT_EQ(found.at("seeded bugs").at("found"), HOLDFAST_BIN_DIR "/holdfast-mutants");

  Outcome const without =
      shell("holdfast=$(command -v holdfast)\nPATH=\"$PWD/tools\"\n\"$holdfast\" doctor --json");
  ASSERT_EQ(without.code, 0) << without.err;
  found = findings_of(Json::parse(without.out));
  EXPECT_TRUE(found.at("clang++").at("found").is_null());
  EXPECT_EQ(found.at("clang++").at("missing"), "not in PATH");
  EXPECT_NE(found.at("clang++").at("left_out").get<std::string>().find("no sanitizers"),
            std::string::npos);

  Outcome const text = shell("holdfast doctor");
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.out.rfind("holdfast 0.", 0), 0U) << text.out;
  expect_refusal(2, "holdfast doctor everything", "everything");
  expect_refusal(2, "holdfast doctor --jsn", "--jsn");
  expect_refusal(3, "holdfast doctor > /dev/full", "No space left");
}

}  // namespace
}  // namespace holdfast::test
