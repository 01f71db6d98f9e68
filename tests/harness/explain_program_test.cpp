// SPDX-License-Identifier: Apache-2.0
// Goal: `holdfast explain` shows where a plane went its own way, on one page that needs nothing
// else. Method: the program that was built, on a trace whose story is known.
#include <cstddef>
#include <holdfast/layout.hpp>
#include <string>

#include "fuzz/story_words.hpp"
#include "models/ops/op_list.hpp"
#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

// Five rows are kept, four more are accepted, and the rollback forgets the latent planes.
constexpr char const* kStory =
    "holdfast-trace 1\ngeometry glm5-next-mini\ndevice host\n"
    "create sequence=s0\n"
    "append sequence=s0 rows=5 token=1 piece=0 view=0\n"
    "snapshot sequence=s0 snapshot=h0\n"
    "verify sequence=s0 rows=4 written=4 token=6 piece=0 view=0\n"
    "accept sequence=s0 keep=4\n"
    "rollback sequence=s0 snapshot=h0\n";

std::size_t count_of(std::string const& text, std::string const& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

class Explain : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    write("story.trace", kStory);
  }
};

TEST_F(Explain, ShowsTheFailingPlanes) {
  Outcome const outcome = shell("holdfast explain story.trace --mutant two_plane_snapshot");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(last_line(outcome.out), "the page: story.html");
  std::string const page = content_of(path("story.html"));
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0U);
  EXPECT_NE(page.find("Operation 5, rollback, breaks LEN"), std::string::npos);
  EXPECT_NE(page.find("row 5 is stale: it is the row of s0 for position 5 (token 6), written by "
                      "operation 3 and removed by operation 5"),
            std::string::npos);
  EXPECT_EQ(count_of(page, "class=\"wrong\""), 4U) << "latent, pool keys, ring and draft";
  EXPECT_EQ(count_of(page, "9, not 5"), 3U);
  EXPECT_EQ(count_of(page, "class=\"badframe\""), 2U);
  EXPECT_EQ(count_of(page, "class=\"op\"><title>"), 6U);
  EXPECT_EQ(count_of(page, ">h0 at 5<"), 1U);
  EXPECT_EQ(count_of(page, ">round 4<"), 1U);
  EXPECT_NE(page.find("holdfast replay story.trace --mutant two_plane_snapshot"),
            std::string::npos);
  for (char const* const foreign : {"<script", "http:", "https:", "src=", "url("}) {
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
  }
  EXPECT_EQ(page.size(), content_of(path("story.html")).size());
}

TEST_F(Explain, ShowsThatAllHeld) {
  ASSERT_EQ(shell("holdfast explain story.trace -o 'a page.html'").code, 0);
  std::string const page = content_of(path("a page.html"));
  EXPECT_NE(page.find("<h1>All held</h1>"), std::string::npos);
  EXPECT_EQ(count_of(page, "class=\"wrong\""), 0U);
  EXPECT_EQ(count_of(page, "class=\"broken\""), 0U);
}

TEST_F(Explain, HasColumnsForTerminals) {
  Outcome const outcome = shell("holdfast explain story.trace --text --mutant two_plane_snapshot");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::vector<std::string> const lines = lines_of(outcome.out);
  ASSERT_GT(lines.size(), 12U);
  EXPECT_EQ(lines[2],
            "       operation                                     of     rows        latent     "
            "pool_keys     tail_ring     recurrent  draft_latent");
  EXPECT_EQ(
      lines[8],
      ">   5  rollback sequence=s0 snapshot=h0              s0        5           9!5           "
      "2!1           9!5           #2*           9!5");
  EXPECT_FALSE(fs::exists(path("story.html")));
}

TEST_F(Explain, SaysWhatItFoundAsJson) {
  Outcome const outcome = shell("holdfast explain story.trace --mutant two_plane_snapshot --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("page"), "story.html");
  EXPECT_EQ(json.at("operation"), 5);
  EXPECT_EQ(json.at("operations"), 6);
  EXPECT_EQ(json.at("violations").at(0).at("id"), "LEN");
  EXPECT_EQ(shell(json.at("reproduce").get<std::string>()).code, 1);
}

TEST_F(Explain, SaysWhatOperationsPlanesAndTheBugAre) {
  ASSERT_EQ(shell("holdfast explain story.trace --mutant two_plane_snapshot").code, 0);
  std::string const page = content_of(path("story.html"));
  EXPECT_NE(
      page.find("<code>rollback</code> takes a sequence back to what a snapshot holds, in "
                "every plane. Afterwards <code>latent</code> of s0 has length 9 and must have 5,"),
      std::string::npos);
  EXPECT_NE(page.find("The seeded bug: a snapshot"), std::string::npos);
  EXPECT_NE(page.find("<dt>tail_ring</dt><dd>the newest raw rows"), std::string::npos);
  for (char const* const kind : model::AllOps::kNames) {
    EXPECT_NE(fuzz::meaning_of_operation(kind), "") << kind;
  }
  for (std::uint32_t kind = 0; kind < kPlaneKindCount; ++kind) {
    char const* const name = name_of(static_cast<PlaneKind>(kind));
    EXPECT_NE(fuzz::meaning_of_plane(name), "") << name;
  }
}

TEST_F(Explain, StaysSmallForLongPrograms) {
  std::string text = "holdfast-trace 1\ngeometry glm5-next-mini\ndevice sim 7\n";
  for (int sequence = 0; sequence < 3; ++sequence) {
    text += "create sequence=s" + std::to_string(sequence) + "\n";
  }
  // Lengths change with every operation, and brackets come and go.
  for (int i = 0; i < 27; ++i) {
    std::string const name = "s" + std::to_string(i % 3);
    std::string const held = "h" + std::to_string(i);
    std::string const rows = " token=" + std::to_string(6 * i + 1) + " piece=0 view=0\n";
    text += "verify sequence=" + name + " rows=2 written=2" + rows;
    text += "accept sequence=" + name + " keep=" + std::to_string(1 + i % 2) + "\n";
    text += "snapshot sequence=" + name + " snapshot=" + held + "\n";
    for (char const* const more : {"1", "2"}) {
      text += "append sequence=" + name + " rows=" + more + rows;
      text += "rollback sequence=" + name + " snapshot=" + held + "\n";
    }
    text += "fork snapshot=" + held + " sequence=s" + std::to_string(3 + i) + "\n";
    text += "drop_snapshot snapshot=" + held + "\n";
    text += "release sequence=s" + std::to_string(3 + i) + "\n";
    text += i % 3 == 2 ? "truncate sequence=" + name + " length=0\n"
                       : "append sequence=" + name + " rows=1" + rows;
  }
  write("long.trace", text);
  Outcome const outcome = shell("holdfast explain long.trace --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("operations"), 300);
  EXPECT_LT(fs::file_size(path("long.html")), 1U << 20U);
}

TEST_F(Explain, TellsOfALibraryThatStopped) {
  // Whatever stops the library in the middle of an operation, the page has the operations before.
  Outcome const saved =
      shell("holdfast run --seed 1 --ops 300000 --mutant entry_leaks_storage --save stopped.trace");
  ASSERT_EQ(saved.code, 1) << saved.err;
  Outcome const outcome =
      shell("holdfast explain stopped.trace --mutant entry_leaks_storage --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(Json::parse(outcome.out).at("violations").empty());
}

TEST_F(Explain, WritesOverNoTrace) {
  // Under its own name, and as the page that a trace would have by default.
  write("mine.html", kStory);
  fs::create_symlink("story.trace", path("link"));
  expect_refusal(2, "holdfast explain mine.html", "mine.html: is read by this command");
  expect_refusal(
      2, "holdfast explain story.trace -o ./story.trace", "./story.trace: is read by this command");
  expect_refusal(2, "holdfast explain story.trace -o link", "link: is read by this command");
  EXPECT_EQ(content_of(path("mine.html")), kStory);
  EXPECT_EQ(content_of(path("story.trace")), kStory);
  EXPECT_EQ(shell("holdfast explain mine.html --text").code, 0);
}

TEST_F(Explain, RefusesWhatItCannotShow) {
  write("malformed.trace", "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=x\n");
  expect_refusal(2, "holdfast explain", "one trace file");
  expect_refusal(
      2, "holdfast explain missing.trace", "missing.trace: cannot be read: No such file");
  expect_refusal(2, "holdfast explain malformed.trace", "malformed.trace:4:8: ");
  expect_refusal(2, "holdfast explain story.trace --mutant two_plane_snapshoot", "did you mean");
  expect_refusal(2, "holdfast explain story.trace --text -o x.html", "--text writes no page");
  expect_refusal(3, "holdfast explain story.trace -o nowhere/x.html", "nowhere/x.html");
}

}  // namespace
}  // namespace holdfast::test
