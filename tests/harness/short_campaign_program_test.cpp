// SPDX-License-Identifier: Apache-2.0
// Goal: a campaign with nothing to find says so, and keeps what it reached. Method: the program that was
// built, for two seconds; with sanitizers as well.
#include <algorithm>
#include <string>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

class ShortCampaign : public Program {};

TEST_F(ShortCampaign, HoldsAndReports) {
  std::string const words = "holdfast fuzz --seed 1 --targets swarm --for 2s ";
  Outcome const outcome = shell(words + "--workers 2 --dir c --json");
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  Json const json = Json::parse(outcome.out);
  EXPECT_EQ(json, Json::parse(content_of(path("c/report.json"))));
  EXPECT_EQ(json.at("canary_reported"), true);
  EXPECT_TRUE(json.at("findings").empty());
  EXPECT_GT(json.at("targets").at("swarm").at("programs").get<int>(), 50);
  EXPECT_GT(json.at("transitions").get<int>(), 100);
  auto const units = std::count_if(
      fs::directory_iterator{path("c/corpus/swarm")},
      fs::directory_iterator{},
      [](fs::directory_entry const& entry) { return entry.path().filename().string()[0] != '.'; });
  EXPECT_EQ(json.at("units").get<std::ptrdiff_t>(), units);
  EXPECT_GT(json.at("history").size(), 2U);
  EXPECT_GT(json.at("states").get<int>(), 50);
  EXPECT_GT(json.at("unseen").size(), 10U);
  EXPECT_EQ(shell("holdfast replay c/corpus/swarm").code, 0);
  std::string const html = content_of(path("c/report.html"));
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("</html>"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos) << "it must need no network";
  expect_refusal(2, words + "--dir c", "c: has a campaign; --resume");
}

}  // namespace
}  // namespace holdfast::test
