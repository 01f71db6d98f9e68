// SPDX-License-Identifier: Apache-2.0
// The commands on another engine, as a user types them: what is wrong with a file or a word is told in one line, and the gate over a
// folder of traces ends with the code and the JUnit file that it promises.
#include <string>
#include <vector>

#include "fuzz/target/engine_generator.hpp"
#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

constexpr char const* kHead = "holdfast-trace 1\ntarget holdfast-toy\nknobs depth=4\n";

class TargetProgram : public Program {
 protected:
  void trace(std::string const& name, std::string const& lines) const {
    write(name, kHead + lines + "\n");
  }
  /// Random programs as traces: 200 of them are what a merge gate holds.
  void write_traces(std::uint64_t count) const {
    fs::create_directory(path("traces"));
    fuzz::Target const target = fuzz::target_of_command({HOLDFAST_TOY});
    fuzz::Session session{target};
    fuzz::EngineGenerator const generator{session.hello(), target, ""};
    for (std::uint64_t i = 0; i < count; ++i) {
      fuzz::EngineProgram const program = generator.program(i);
      write("traces/" + std::to_string(i) + ".trace",
            model::print_engine_trace({.comments = {},
                                       .target = target.name,
                                       .knobs = model::text_of(program.knobs),
                                       .ops = program.ops}));
    }
  }
  [[nodiscard]] std::size_t count_in(std::string const& file, std::string const& part) const {
    std::string const text = content_of(path(file));
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }
};

TEST_F(TargetProgram, GateOnTwoHundredTracesEndsWithinAMinute) {
  write_traces(200);
  std::string const gate = "holdfast gate --corpus traces --junit gate.xml --json --target ";
  Outcome const held = shell(gate + "holdfast-toy");
  EXPECT_EQ(held.code, 0) << held.err;
  Json const json = Json::parse(held.out);
  EXPECT_EQ(json.at("traces"), 200);
  EXPECT_EQ(json.at("failed"), 0);
  EXPECT_LT(json.at("seconds").get<double>(), 60);
  EXPECT_EQ(count_in("gate.xml", "<testcase "), 200U);
  EXPECT_EQ(count_in("gate.xml", "<failure "), 0U);

  Outcome const failed = shell(gate + "'holdfast-toy --bug half_refused'");
  EXPECT_EQ(failed.code, 1) << failed.err;
  auto const failures = Json::parse(failed.out).at("failed").get<std::size_t>();
  EXPECT_GT(failures, 0U);
  EXPECT_LT(failures, 200U);
  EXPECT_EQ(count_in("gate.xml", "<testcase "), 200U);
  EXPECT_EQ(count_in("gate.xml", "<failure "), failures);
}

TEST_F(TargetProgram, GateRefusesWhatItCannotJudge) {
  write_traces(2);
  expect_refusal(2, "holdfast gate --target holdfast-toy --corpus missing", "missing: cannot be");
  expect_refusal(3,
                 "holdfast gate --target holdfast-toy --corpus traces --junit nowhere/x",
                 "nowhere/x: cannot be written");
  expect_refusal(2, "holdfast gate --target /nowhere --corpus traces", "cannot run '/nowhere'");
  trace("traces/a.trace", "jump sequence=s0");
  expect_refusal(2, "holdfast gate --target holdfast-toy --corpus traces", "a.trace:4:1: no op");
}

TEST_F(TargetProgram, TracesThatItCannotRunAreOneLine) {
  write("other.trace", "holdfast-trace 1\ntarget other\nknobs\nclear\n");
  write("knob.trace", "holdfast-trace 1\ntarget holdfast-toy\nknobs colour=1\nclear\n");
  write("value.trace", "holdfast-trace 1\ntarget holdfast-toy\nknobs depth=9\nclear\n");
  write("twice.trace", "holdfast-trace 1\ntarget holdfast-toy\nknobs depth=0 depth=4\nclear\n");
  write("ours.trace", "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=s0\n");
  write("hollow.trace", kHead);
  write("random.trace", std::string("\x01\xff\x00\x7f", 4));
  trace("good.trace", "clear");
  trace("jump.trace", "jump");
  trace("far.trace", "clear\nkeep sequence=s4");
  trace("rowless.trace", "decode items=s0:0:1:none");
  trace("large.trace", "decode items=s0:1:4294967296:none");
  fs::create_directory(path("folder"));
  for (std::string const command : {"replay", "minimize", "explain"}) {
    auto const refuses = [&](std::string const& words, std::string const& part) {
      expect_refusal(2, "holdfast " + command + " " + words + " --target holdfast-toy", part);
    };
    refuses("missing.trace", "missing.trace: cannot be read");
    refuses("folder", "folder");
    refuses("other.trace", "other.trace: it is of target 'other'");
    refuses("knob.trace", "knob.trace: the engine has no knob 'colour'");
    refuses("value.trace", "value.trace: the engine's knob depth has no value '9'");
    refuses("twice.trace", "twice.trace: knobs: 'depth=4' names a knob a second time");
    refuses("ours.trace", "ours.trace:2:1: expected 'target ...'");
    refuses("hollow.trace", "hollow.trace:3:1: the trace has no operation");
    refuses("random.trace", "random.trace:1:1: expected 'holdfast-trace 1'");
    refuses("jump.trace", "jump.trace:4:1: no operation of engines is called 'jump'");
    refuses("far.trace", "far.trace: s4 is named, and the engine has 4 sequences");
    refuses("rowless.trace", "rowless.trace:4:");
    refuses("large.trace", "large.trace:4:");
    expect_refusal(2, "holdfast " + command + " good.trace", "say which with --target");
  }
  expect_refusal(2, "holdfast minimize good.trace --target holdfast-toy", "nothing to keep");
  expect_refusal(2,
                 "holdfast explain good.trace good.trace --target holdfast-toy",
                 "explain needs one trace file");
  expect_refusal(3,
                 "holdfast explain good.trace -o nowhere/x --target holdfast-toy",
                 "nowhere/x: cannot be written");
}

TEST_F(TargetProgram, ARunThatComparesNothingHasNotHeld) {
  write("x.json",
        R"({"name": "x", "command": ["holdfast-toy"], "tolerance": 1e-4,
            "known": [{"name": "a", "bucket": "b",
                       "avoid": [{"operation": "decode"}, {"operation": "draft"}]}]})");
  expect_refusal(2, "holdfast run --programs 20 --target x.json", "no logits were compared");
  expect_refusal(2,
                 "holdfast run --programs 20 --target '" HOLDFAST_BAD_ENGINE " inf'",
                 "the logits of most histories are not finite");
}

TEST_F(TargetProgram, ACampaignIsNotWrittenOver) {
  std::string const fuzz = "holdfast fuzz --programs 20 --dir c --target holdfast-toy";
  EXPECT_EQ(shell(fuzz).code, 0);
  expect_refusal(2, fuzz, "c has the report of a campaign already");
}

TEST_F(TargetProgram, WhatWasFoundIsToldThoughItCannotBeSaved) {
  Outcome const outcome = shell(
      "holdfast run --programs 2000 --save /dev/full --target 'holdfast-toy --bug half_refused'");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.out.find("at operation"), std::string::npos) << outcome.out;
}

TEST_F(TargetProgram, TargetFilesThatAreWrongAreOneLine) {
  struct BadFile {
    char const* members;
    char const* says;
  };
  constexpr BadFile kFiles[] = {
      {R"("command": [])", "command: a command has a word at least"},
      {R"("command": ["holdfast-toy"], "seconds": -1)", "seconds: a number above 0 is wanted"},
      {R"("command": ["holdfast-toy"], "comand": 1)", "unknown key \"comand\""},
      {R"("command": ["holdfast-toy"], "knobs": {"depth": []})", "a knob has a value at least"},
      {R"("command": ["holdfast-toy"], "knobs": {"depth": [9]})", "depth has no value '9'"},
      {R"("command": ["holdfast-toy"], "knobs": {"colour": [9]})", "has no knob 'colour'"},
      {R"("command": ["holdfast-toy"], "known": [{"name": "a", "bucket": "b",
          "avoid": {"operation": "jump"}}])",
       "known[0].avoid.operation: no operation of engines is called 'jump'"},
      {R"("command": ["holdfast-toy"], "known": [{"name": "a", "bucket": "b",
          "avoid": {"operation": "clear", "when": "late"}}])",
       "known[0].avoid.when: no condition is called 'late'"},
      {R"("command": ["holdfast-toy"], "known": [{"name": "a", "bucket": "b",
          "avoid": {"operation": "clear", "knobs": {"colour": "red"}}}])",
       "known finding a: the engine has no knob 'colour'"},
      {R"("command": ["true"])", "hello was not answered: the engine ended with status 0"},
      {R"("command": ["holdfast-toy", "--bug", "none"])", "it said: usage: "},
  };
  for (BadFile const& one : kFiles) {
    write("x.json", std::string{R"({"name": "x", )"} + one.members + "}");
    for (std::string const command : {"run --programs 1", "list", "fuzz --programs 1 --dir c"}) {
      expect_refusal(2, "holdfast " + command + " --target x.json", one.says);
    }
  }
  fs::create_directory(path("folder.json"));
  write("array.json", "[]");
  expect_refusal(2, "holdfast run --target folder.json", "folder.json: cannot be read");
  expect_refusal(2, "holdfast run --target array.json", "array.json: must be an object");
  expect_refusal(2, "holdfast run --target ' '", "a target file or a command line is missing");
  expect_refusal(2, "holdfast list mutants --target holdfast-toy", "list mutants means nothing");
}

}  // namespace
}  // namespace holdfast::test
