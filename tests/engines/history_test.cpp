// SPDX-License-Identifier: Apache-2.0
// Texts, declarations and the model of histories, each on a few lines that a reader can check by hand.
#include "models/target/history.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/input_error.hpp"

namespace holdfast::test {
namespace {

using model::EngineOp;
using model::InputError;
using model::Reply;

EngineOp op(std::string const& line) {
  return model::parse_engine_op(line, "test", 1);
}

model::Hello hello() {
  return model::parse_hello({"engine name=x version=1",
                             "limits vocabulary=10 sequences=3 context=20 batch=8",
                             "operation decode",
                             "operation remove",
                             "knob depth=2,0",
                             "legal remove when=deeper:depth",
                             "legal remove when=middle depth=0",
                             "legal decode when=full",
                             "operation snapshot",
                             "operation rollback",
                             "legal rollback when=full",
                             "weak remove when=window:4",
                             "ok protocol=1"});
}

class Histories : public testing::Test {
 protected:
  void done(std::string const& line) { model_.apply(op(line), Reply::kOk); }

  model::Hello hello_ = hello();
  model::Knobs knobs_ = hello_.completed({}, "test");
  model::HistoryModel model_{hello_, knobs_};
};

TEST(EngineOps, TextsRoundTrip) {
  for (char const* line : {"decode items=s0:3:1:last,s1:2:4:none",
                           "draft sequence=s0 rows=4 token=9 keep=1",
                           "remove sequence=s0",
                           "remove sequence=s0 first=3 end=7",
                           "shift sequence=s2 first=4 by=-3",
                           "damage entry=e1 cut=7",
                           "load sequence=s1 entry=e0",
                           "clear"}) {
    EXPECT_EQ(model::text_of(op(line)), line);
  }
}

TEST(EngineOps, TokensAreSpelledOutOnTheWire) {
  EXPECT_EQ(model::wire_of(op("decode items=s0:3:8:last,s1:1:3:none"), 10),
            "decode items=s0:8.9.0!,s1:3");
  EXPECT_EQ(model::wire_of(op("draft sequence=s0 rows=2 token=9 keep=1"), 10),
            "draft sequence=s0 keep=1 tokens=9!.0!");
}

TEST(EngineOps, ComplaintsSayWhere) {
  for (char const* line : {"jump",
                           "decode",
                           "decode items=s0:3",
                           "copy sequence=s0",
                           "copy sequence=s0 to=s99",
                           "draft sequence=s0 rows=2 token=1 keep=3",
                           "remove sequence=s0 colour=red"}) {
    EXPECT_THROW(static_cast<void>(op(line)), InputError) << line;
  }
}

TEST(EngineTraces, RoundTrip) {
  std::string const text =
      "# shows\nholdfast-trace 1\ntarget toy\nknobs depth=2\ndecode items=s0:1:1:last\nclear\n";
  EXPECT_EQ(model::print_engine_trace(model::parse_engine_trace(text, "test")), text);
  EXPECT_TRUE(model::is_engine_trace(text));
  EXPECT_FALSE(model::is_engine_trace("holdfast-trace 1\ngeometry tiny\n"));
  EXPECT_THROW(static_cast<void>(model::parse_engine_trace("holdfast-trace 1\ncommand rm\n", "t")),
               InputError);
}

TEST_F(Histories, GrowAndAreExpected) {
  done("decode items=s0:2:1:last,s1:1:5:none,s0:1:3:last");
  ASSERT_EQ(model_.expected().size(), 2U);
  EXPECT_EQ(model_.expected()[0].tokens, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(model_.expected()[1].tokens, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(model_.history(1).size(), 1U);
}

TEST_F(Histories, ADeepRemovalMayBeRefusedAndAShallowOneMayNot) {
  done("decode items=s0:6:1:none");
  EXPECT_FALSE(model_.may_refuse(op("remove sequence=s0 first=4")));
  EXPECT_TRUE(model_.may_refuse(op("remove sequence=s0 first=3")));
  EXPECT_FALSE(model_.may_refuse(op("remove sequence=s0")));
  done("remove sequence=s0 first=4");
  EXPECT_TRUE(model_.may_refuse(op("remove sequence=s0 first=3")));  // both states are used up
  done("decode items=s0:1:9:none");
  EXPECT_FALSE(model_.may_refuse(op("remove sequence=s0 first=4")));
}

TEST_F(Histories, ClausesAreForTheirKnobs) {
  done("decode items=s0:4:1:none");
  EXPECT_FALSE(model_.may_refuse(op("remove sequence=s0 first=1 end=2")));  // depth is 2
}

TEST_F(Histories, AWindowMayBeWeakOnceItWasFull) {
  done("decode items=s0:4:1:none");
  EXPECT_FALSE(model_.may_be_weak(op("remove sequence=s0 first=3")));
  done("decode items=s0:1:5:none");
  EXPECT_TRUE(model_.may_be_weak(op("remove sequence=s0 first=4")));
}

TEST_F(Histories, ARollbackMayNeedMoreRowsThanThereAre) {
  done("decode items=s0:8:1:none");
  done("snapshot sequence=s0 snapshot=h0");
  EXPECT_FALSE(model_.may_refuse(op("rollback sequence=s0 snapshot=h0")));
  done("remove sequence=s0");
  done("decode items=s1:8:9:none");
  done("decode items=s2:8:17:none");  // 16 of 20 rows
  EXPECT_TRUE(model_.may_refuse(op("rollback sequence=s0 snapshot=h0")));
}

TEST_F(Histories, AWindowCountsPositions) {
  done("decode items=s0:2:1:none");
  EXPECT_FALSE(model_.may_be_weak(op("remove sequence=s0 first=1")));
  done("shift sequence=s0 first=1 by=3");
  EXPECT_TRUE(model_.may_be_weak(op("remove sequence=s0 first=4")));
}

TEST_F(Histories, RowsTakenFromTheMiddleLeaveNothingToCompare) {
  done("decode items=s0:4:1:none");
  done("remove sequence=s0 first=1 end=2");
  done("decode items=s0:1:9:last");
  ASSERT_EQ(model_.expected().size(), 1U);
  EXPECT_TRUE(model_.expected()[0].tokens.empty());
  done("remove sequence=s0");
  done("decode items=s0:1:9:last");
  EXPECT_FALSE(model_.expected()[0].tokens.empty());
}

TEST_F(Histories, AShiftedSequenceBeginsElsewhere) {
  done("decode items=s0:2:1:none");
  done("shift sequence=s0 by=5");
  done("decode items=s0:1:3:last");
  EXPECT_EQ(model_.expected()[0].first, 5U);
  EXPECT_EQ(model_.history(0).next(), 8U);
  EXPECT_FALSE(model_.makes_sense(op("shift sequence=s0 by=-6")));
}

TEST_F(Histories, FullIsAllRowsTogether) {
  done("decode items=s0:8:1:none");
  done("decode items=s1:8:1:none");
  EXPECT_FALSE(model_.may_refuse(op("decode items=s2:4:1:none")));
  EXPECT_TRUE(model_.may_refuse(op("decode items=s2:5:1:none")));
}

TEST_F(Histories, DamagedBytesThatAreLoadedAreLost) {
  done("decode items=s0:2:1:none");
  done("save sequence=s0 entry=e0");
  done("damage entry=e0 flip=3");
  done("load entry=e0 sequence=s1");
  EXPECT_TRUE(model_.history(1).lost);
  EXPECT_FALSE(model_.history(0).lost);
  EXPECT_TRUE(model_.may_refuse(op("decode items=s1:1:1:none")));
}

TEST(Hello, ComplaintsSayWhichLine) {
  for (std::vector<std::string> const& lines : std::vector<std::vector<std::string>>{
           {"ok protocol=1"},
           {"limits vocabulary=4 sequences=1 context=8 batch=8", "ok protocol=1"},
           {"limits vocabulary=0 sequences=1 context=8 batch=8",
            "operation decode",
            "ok protocol=1"},
           {"limits vocabulary=4 sequences=1 context=8 batch=8",
            "operation decode",
            "legal decode when=sometimes",
            "ok protocol=1"},
           {"limits vocabulary=4 sequences=1 context=8 batch=8",
            "operation decode",
            "legal remove when=deeper:nobody",
            "ok protocol=1"},
           {"limits vocabulary=4 sequences=1 context=8 batch=8",
            "operation decode",
            "ok protocol=2"}}) {
    EXPECT_THROW(static_cast<void>(model::parse_hello(lines)), InputError);
  }
}

TEST(Answers, LogitsAreReadInThreeForms) {
  for (char const* line : {"logits 0.5 -2", "logits 0x1p-1 -0x1p+1", "bits 3f000000 c0000000"}) {
    model::EngineAnswer answer;
    bool closed = false;
    EXPECT_EQ(model::add_line(line, 2, answer, closed), "") << line;
    EXPECT_EQ(answer.logits.at(0), (model::Logits{0.5F, -2.0F})) << line;
  }
  model::EngineAnswer answer;
  bool closed = false;
  EXPECT_EQ(model::add_line("logits 1e999 1e-999", 2, answer, closed), "");
  EXPECT_EQ(answer.logits.at(0), (model::Logits{HUGE_VALF, 0}));
  EXPECT_NE(model::add_line("logits 1 2 3", 2, answer, closed), "");
  EXPECT_NE(model::add_line("logits 1 x", 2, answer, closed), "");
  EXPECT_NE(model::add_line("okay", 2, answer, closed), "");
}

}  // namespace
}  // namespace holdfast::test
