// SPDX-License-Identifier: Apache-2.0
// Goal: a failure that is kept as text is kept exactly, and a text that is no trace is refused with
// its place, whatever it holds. Method: round trips of random operations and of generated programs;
// one wrong line at a time, with the whole message; random damage of valid traces.
#include "models/trace.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fuzz/runner.hpp"
#include "models/geometry/geometry.hpp"
#include "models/input_error.hpp"
#include "models/source.hpp"

namespace holdfast::model {
namespace {

/// Sets every field to something random that a trace can hold.
struct RandomFields {
  Source& source;

  void operator()(char const* /*name*/, std::uint32_t& value) const {
    std::uint32_t const bits = source.between(0, 32);
    std::uint32_t const low = source.below(1U << 16U);
    value = bits == 0 ? 0 : ((source.below(1U << 16U) << 16U) | low) >> (32 - bits);
  }
  void operator()(char const* /*name*/, SequenceName& value) const {
    value.value = source.below(kNameLimit);
  }
  void operator()(char const* /*name*/, SnapshotName& value) const {
    value.value = source.below(kNameLimit);
  }
  void operator()(char const* /*name*/, StateMode& value) const {
    value = static_cast<StateMode>(source.below(2));
  }
  template <typename T>
  void operator()(char const* name, T& value, T const& fallback) const {
    value = fallback;  // as often as not
    if (source.one_in(2)) {
      (*this)(name, value);
    }
  }
  void operator()(char const* /*name*/, EntryName& value) const {
    value.value = source.below(kNameLimit);
  }
  void operator()(char const* /*name*/, Damage& value) const {
    value = static_cast<Damage>(source.below(kDamageCount));
  }
  void operator()(char const* name, WritePlan& plan) const {
    plan.liberty = static_cast<Liberty>(source.below(kLibertyCount));
    plan.mistake = static_cast<Mistake>(source.below(kMistakeCount));
    (*this)(name, plan.part);
    plan.via = source.below(kStreamNames + 1);
    plan.reversed = source.one_in(2);
  }
  void operator()(char const* /*name*/, KeyRule& keys) const { keys = any_keys(source); }
  void operator()(char const* /*name*/, FaultKind& value) const {
    value = static_cast<FaultKind>(source.below(kFaultKindCount));
  }
  void operator()(char const* name, StepParts& items) const {
    items.count = source.between(1, kStepItemLimit);
    for (std::uint32_t i = 0; i < items.count; ++i) {
      StepPart& part = items.parts[i];
      part.deed = static_cast<StepDeed>(source.below(3));
      (*this)(name, part.rows);
      if (part.deed != StepDeed::kPad) {
        (*this)(name, part.sequence);
        (*this)(name, part.keep);
        (*this)(name, part.token);
        (*this)(name, part.mode);
        (*this)(name, part.keys, KeyRule{});
      }
    }
  }
};

/// All fields of an operation, in order.
struct FieldValues {
  std::vector<std::uint32_t> values;

  void operator()(char const* /*name*/, std::uint32_t& value) { values.push_back(value); }
  void operator()(char const* /*name*/, SequenceName& value) { values.push_back(value.value); }
  void operator()(char const* /*name*/, SnapshotName& value) { values.push_back(value.value); }
  void operator()(char const* /*name*/, StateMode& value) {
    values.push_back(static_cast<std::uint32_t>(value));
  }
  template <typename T>
  void operator()(char const* name, T& value, T const& /*fallback*/) {
    (*this)(name, value);
  }
  void operator()(char const* /*name*/, EntryName& value) { values.push_back(value.value); }
  void operator()(char const* /*name*/, Damage& value) {
    values.push_back(static_cast<std::uint32_t>(value));
  }
  void operator()(char const* /*name*/, WritePlan& plan) {
    values.insert(values.end(),
                  {static_cast<std::uint32_t>(plan.liberty),
                   static_cast<std::uint32_t>(plan.mistake),
                   plan.part,
                   plan.via,
                   plan.reversed ? 1U : 0U});
  }
  void operator()(char const* /*name*/, KeyRule& keys) {
    for (TokenKey const number : {keys.key, keys.step, TokenKey{keys.period}}) {
      values.push_back(static_cast<std::uint32_t>(number));
      values.push_back(static_cast<std::uint32_t>(number >> 32U));
    }
  }
  void operator()(char const* /*name*/, FaultKind& value) {
    values.push_back(static_cast<std::uint32_t>(value));
  }
  void operator()(char const* /*name*/, StepParts& items) {
    for (std::uint32_t i = 0; i < items.count; ++i) {
      StepPart& part = items.parts[i];
      values.insert(values.end(),
                    {static_cast<std::uint32_t>(part.deed),
                     part.sequence.value,
                     part.rows,
                     part.keep,
                     part.token,
                     static_cast<std::uint32_t>(part.mode)});
      (*this)("keys", part.keys);
    }
  }
};

std::vector<std::uint32_t> fields_of(AnyOp const& op) {
  FieldValues fields;
  std::visit([&](auto known) { known.fields(fields); }, op);
  return fields.values;
}

template <std::uint32_t I = 0>
void add_random_ops(Source& source, std::uint32_t count, std::vector<AnyOp>& ops) {
  if constexpr (I < AllOps::kCount) {
    for (std::uint32_t i = 0; i < count; ++i) {
      std::variant_alternative_t<I, AnyOp> op;
      RandomFields random{source};
      op.fields(random);
      ops.emplace_back(op);
    }
    add_random_ops<I + 1>(source, count, ops);
  }
}

void expect_same_ops(std::vector<AnyOp> const& got, std::vector<AnyOp> const& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].index(), want[i].index()) << text_of(want[i]);
    ASSERT_EQ(fields_of(got[i]), fields_of(want[i])) << text_of(want[i]);
  }
}

void expect_round_trip(Trace const& trace) {
  std::string const text = print_trace(trace);
  Trace const again = parse_trace(text, "x");
  EXPECT_EQ(again.comments, trace.comments);
  EXPECT_EQ(again.geometry, trace.geometry);
  EXPECT_EQ(again.device, trace.device);
  expect_same_ops(again.ops, trace.ops);
  EXPECT_EQ(print_trace(again), text);
}

std::string refusal(std::string_view text) {
  try {
    static_cast<void>(parse_trace(text, "x"));
  } catch (InputError const& error) {
    return error.what();
  }
  return "accepted";
}

constexpr std::string_view kHeader = "holdfast-trace 1\ngeometry tiny\ndevice host\n";

std::string refusal_of_op(std::string const& line) {
  return refusal(std::string{kHeader} + line + "\n");
}

/// The trace of a generated program.
std::string generated(std::string const& geometry, std::uint64_t seed) {
  fuzz::Runner runner{load_geometry(geometry), {}};
  static_cast<void>(runner.run_seed(seed));
  return print_trace(
      {.comments = {" generated"}, .geometry = geometry, .device = "host", .ops = runner.ops()});
}

TEST(Trace, EveryKindRoundTripsWithAnyFields) {
  Source source{1};
  Trace trace{.comments = {}, .geometry = "tiny", .device = "host", .ops = {}};
  add_random_ops(source, 200, trace.ops);
  ASSERT_EQ(trace.ops.size(), 200U * AllOps::kCount);
  expect_round_trip(trace);
}

TEST(Trace, GeneratedProgramsRoundTrip) {
  for (std::string const& name : default_geometry_names()) {
    SCOPED_TRACE(name);
    Geometry const geometry = load_geometry(name);
    fuzz::Runner runner{geometry, {}};
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      static_cast<void>(runner.run_seed(seed));
      expect_round_trip({.comments = {" seed " + std::to_string(seed), ""},
                         .geometry = geometry_reference(geometry),
                         .device = "host",
                         .ops = runner.ops()});
    }
  }
}

TEST(Trace, TextIsWhatTheFormatSays) {
  std::string const text =
      "# why\n#\n#  two spaces\nholdfast-trace 1\ngeometry tiny\ndevice host\n"
      "create sequence=s0\n"
      "append sequence=s0 rows=5 token=1 piece=0 view=0\n"
      "snapshot sequence=s0 snapshot=h0\n"
      "fork snapshot=h0 sequence=s1\n"
      "close\n";
  Trace const trace = parse_trace(text, "x");
  EXPECT_EQ(trace.comments, (std::vector<std::string>{" why", "", "  two spaces"}));
  ASSERT_EQ(trace.ops.size(), 5U);
  auto const* const append = std::get_if<AppendOp>(&trace.ops[1]);
  ASSERT_NE(append, nullptr);
  EXPECT_EQ(append->count, 5U);
  EXPECT_EQ(append->token, 1U);
  EXPECT_EQ(print_trace(trace), text);
}

TEST(Trace, LaterCommentsEmptyLinesAndSpacesAreSkipped) {
  Trace const trace = parse_trace(
      "\n# kept\n\nholdfast-trace  1 \n# lost\n\ngeometry  tiny\ndevice host\n"
      "  create   sequence=s0  \n# lost too\nrelease sequence=s0",
      "x");
  EXPECT_EQ(trace.comments, (std::vector<std::string>{" kept"}));
  EXPECT_EQ(trace.geometry, "tiny");
  EXPECT_EQ(trace.ops.size(), 2U);
}

TEST(Trace, LinesMayEndInCarriageReturns) {
  std::string const text = generated("tiny", 3);
  std::string other;
  for (char const letter : text) {
    other += letter == '\n' ? "\r\n" : std::string{letter};
  }
  EXPECT_EQ(print_trace(parse_trace(other, "x")), text);
  std::string const printed = print_trace(parse_trace("# a\r b\r\r\n#\r\r\r\n" + text, "x"));
  EXPECT_EQ(printed, "# a\r b\n#\n" + text);
  EXPECT_EQ(print_trace(parse_trace(printed, "x")), printed);
}

TEST(Trace, GeometryMayBeWholeText) {
  std::string text = load_geometry("tiny").text;
  Trace const trace = parse_trace(
      "holdfast-trace 1\ngeometry " + text + "\ndevice host\ncreate sequence=s0\n", "x");
  EXPECT_EQ(trace.geometry, text);
  EXPECT_EQ(geometry_from_reference(trace.geometry).layout.capacity.tokens, 64U);
}

TEST(Trace, HeadersAreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal(""), "x:1:1: the trace is empty");
  EXPECT_EQ(refusal("# nothing\n\n"), "x:1:1: the trace is empty");
  EXPECT_EQ(refusal("trace 1\n"), "x:1:1: expected 'holdfast-trace 1', found 'trace'");
  EXPECT_EQ(refusal("# a\n  holdfast 1\n"), "x:2:3: expected 'holdfast-trace 1', found 'holdfast'");
  EXPECT_EQ(refusal("holdfast-trace\n"), "x:1:15: '' is no number for 'version'");
  EXPECT_EQ(refusal("holdfast-trace one\n"), "x:1:16: 'one' is no number for 'version'");
  EXPECT_EQ(refusal("holdfast-trace 2\n"),
            "x:1:16: trace version '2' is not known; this program reads version 1");
  EXPECT_EQ(refusal("holdfast-trace 1 2\n"), "x:1:18: unexpected '2'");
  EXPECT_EQ(refusal("holdfast-trace 1\ndevice host\n"),
            "x:2:1: expected 'geometry ...', found 'device'");
  EXPECT_EQ(refusal("holdfast-trace 1\ngeometry\n"), "x:2:9: 'geometry' needs a value");
  EXPECT_EQ(refusal("holdfast-trace 1\ngeometry tiny\ncreate sequence=s0\n"),
            "x:3:1: expected 'device ...', found 'create'");
  EXPECT_EQ(refusal("holdfast-trace 1\n"), "x:1:1: the trace has no operation");
  EXPECT_EQ(refusal(kHeader), "x:3:1: the trace has no operation");
  std::string const device = refusal("holdfast-trace 1\ngeometry tiny\ndevice abacus\n");
  EXPECT_EQ(device, "x:3:8: device 'abacus' is not known; known: host, sim SEED, cuda");
  EXPECT_EQ(refusal("holdfast-trace 1\ngeometry tiny\ndevice sim x1\n"),
            "x:3:8: device 'sim x1' is not known; known: host, sim SEED, cuda");
}

TEST(Trace, OperationsAreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal_of_op("jump sequence=s0"), "x:4:1: no operation is called 'jump'");
  EXPECT_EQ(refusal_of_op("  Create sequence=s0"), "x:4:3: no operation is called 'Create'");
  EXPECT_EQ(refusal_of_op("create"), "x:4:7: the field 'sequence=s...' is missing");
  EXPECT_EQ(refusal_of_op("truncate sequence=s0"), "x:4:21: the field 'length=...' is missing");
  EXPECT_EQ(refusal_of_op("truncate length=3 sequence=s0"),
            "x:4:10: expected 'sequence=s...', found 'length=3'");
  EXPECT_EQ(refusal_of_op("create sequence=h0"),
            "x:4:8: expected 'sequence=s...', found 'sequence=h0'");
  EXPECT_EQ(refusal_of_op("create sequence=s"), "x:4:18: '' is no number for 'sequence'");
  EXPECT_EQ(refusal_of_op("create sequence=s64"), "x:4:8: 'sequence' goes past the last name s63");
  EXPECT_EQ(refusal_of_op("drop_snapshot snapshot=h64"),
            "x:4:15: 'snapshot' goes past the last name h63");
  EXPECT_EQ(refusal_of_op("create sequence=s63"), "accepted");
  EXPECT_EQ(refusal_of_op("truncate sequence=s0 length=4294967295"), "accepted");
  EXPECT_EQ(refusal_of_op("truncate sequence=s0 length=4294967296"),
            "x:4:29: '4294967296' is no number for 'length'");
  EXPECT_EQ(refusal_of_op("truncate sequence=s0 length=-1"),
            "x:4:29: '-1' is no number for 'length'");
  EXPECT_EQ(refusal_of_op("truncate sequence=s0 length=3x"),
            "x:4:29: '3x' is no number for 'length'");
  EXPECT_EQ(refusal_of_op("create sequence=s0 now"), "x:4:20: unexpected 'now'");
  EXPECT_EQ(refusal_of_op("close it"), "x:4:7: unexpected 'it'");
  EXPECT_EQ(refusal_of_op("create sequence=s0\n\n# note\njump"),
            "x:7:1: no operation is called 'jump'");
}

TEST(Trace, KeysOfTokensAreSaidWhereTheyAreNotTheTokens) {
  std::string const line = "append sequence=s0 rows=5 token=1 piece=0 view=0";
  std::string const step = "step items=append:s0:3:3:1";
  std::string const more = " piece=0 view=0";
  for (std::string const& op : {line + " keys=0x0",
                                line + " keys=0xffffffffffffffff",
                                line + " keys=0x8000000000000000.2.0xffffffffffffffff",
                                line + " plan=omit keys=0x1.3.0x100000000",
                                step + ":0x7" + more,
                                step + ":inplace:0x7.2.0x1" + more,
                                step + ":0x7,pad:2,verify:s1:4:2:4:rescan:0x0.2.0x1" + more}) {
    EXPECT_EQ(text_of(parse_trace(std::string{kHeader} + op + "\n", "x").ops.front()), op);
  }
  EXPECT_EQ(refusal_of_op(line + " keys=7"), "x:4:55: '7' is no key: 0x and up to 16 digits");
  EXPECT_EQ(refusal_of_op(line + " keys=0x10000000000000000"),
            "x:4:55: '0x10000000000000000' is no key: 0x and up to 16 digits");
  EXPECT_EQ(refusal_of_op(line + " keys=0x1.2"), "x:4:61: '' is no key: 0x and up to 16 digits");
  EXPECT_EQ(refusal_of_op(line + " keys=0x1.0.0x1"), "x:4:59: the period of keys is at least 1");
  EXPECT_EQ(refusal_of_op(step + ":0x" + more), "x:4:28: '0x' is no key: 0x and up to 16 digits");
  EXPECT_EQ(refusal_of_op("step items=pad:3:0x1" + more), "x:4:18: unexpected '0x1' in an item");
}

TEST(Trace, FieldsWithADefaultMayBeMissingAndArePrintedOnlyWhenTheyDiffer) {
  std::string const line = "append sequence=s0 rows=5 token=1 piece=0 view=0";
  auto const text_after = [](std::string const& op) {
    return text_of(parse_trace(std::string{kHeader} + op + "\n", "x").ops.front());
  };
  EXPECT_EQ(text_after(line), line);
  EXPECT_EQ(text_after(line + " mode=fresh"), line);
  EXPECT_EQ(text_after(line + " mode=inplace"), line + " mode=inplace");
  EXPECT_EQ(text_after(line + " mode=rescan"), line + " mode=rescan");
  EXPECT_EQ(refusal_of_op(line + " mode=there"),
            "x:4:55: 'there' is no mode (known: fresh, inplace, rescan)");
  EXPECT_EQ(refusal_of_op(line + " mod=fresh"), "x:4:50: unexpected 'mod=fresh'");
  EXPECT_EQ(refusal_of_op(line + " mode=inplace mode=inplace"),
            "x:4:63: unexpected 'mode=inplace'");
}

TEST(Trace, APlanSaysWhatIsNotAsUsual) {
  std::string const line = "append sequence=s0 rows=5 token=1 piece=0 view=0 plan=";
  auto const plan_after = [&](std::string const& plan) {
    return text_of(parse_trace(std::string{kHeader} + line + plan + "\n", "x").ops.front());
  };
  EXPECT_EQ(plan_after("none"), line.substr(0, line.size() - 6));
  EXPECT_EQ(plan_after("omit"), line + "omit");
  EXPECT_EQ(plan_after("none,reversed"), line + "none,reversed");
  EXPECT_EQ(plan_after("twice,wrong:rank,via:2,part:3"), line + "twice,part:3,via:2,wrong:rank");
  EXPECT_EQ(refusal_of_op(line + "never"), "x:4:55: 'never' is nothing that a write may do");
  EXPECT_EQ(refusal_of_op(line), "x:4:55: '' is nothing that a write may do");
  EXPECT_EQ(refusal_of_op(line + "omit,part:x"), "x:4:65: 'x' is no number for 'part'");
  EXPECT_EQ(refusal_of_op(line + "omit,wrong:all"), "x:4:66: 'all' is no mistake that is known");
  EXPECT_EQ(refusal_of_op(line + "omit,omit"),
            "x:4:60: a plan has part, via, wrong and reversed, not 'omit'");
  EXPECT_EQ(refusal_of_op(line + "omit,"),
            "x:4:60: a plan has part, via, wrong and reversed, not ''");
}

TEST(Trace, ItemsOfAStepMayEndInAMode) {
  auto const items_after = [](std::string const& items) {
    std::string const line = "step items=" + items + " piece=0 view=0";
    return text_of(parse_trace(std::string{kHeader} + line + "\n", "x").ops.front());
  };
  EXPECT_EQ(items_after("verify:s0:4:2:4:inplace,append:s1:1:1:9:fresh"),
            "step items=verify:s0:4:2:4:inplace,append:s1:1:1:9 piece=0 view=0");
  EXPECT_EQ(refusal_of_op("step items=verify:s0:4:2:4:there piece=0 view=0"),
            "x:4:28: 'there' is no mode (known: fresh, inplace, rescan)");
  EXPECT_EQ(refusal_of_op("step items=verify:s0:4:2:4:inplace:now piece=0 view=0"),
            "x:4:36: unexpected 'now' in an item");
  EXPECT_EQ(refusal_of_op("step items=pad:4:inplace piece=0 view=0"),
            "x:4:18: unexpected 'inplace' in an item");
}

TEST(Trace, AMissingFileIsNamed) {
  try {
    static_cast<void>(load_trace("/does/not/exist.trace"));
    FAIL() << "loaded";
  } catch (InputError const& error) {
    EXPECT_EQ(std::string{error.what()}.substr(0, 23), "/does/not/exist.trace: ");
  }
}

/// Changes a text in one random place.
void damage(Source& source, std::string& text) {
  auto const size = static_cast<std::uint32_t>(text.size());
  if (size == 0) {
    text += '#';
    return;
  }
  std::size_t const at = source.below(size);
  switch (source.below(6)) {
    case 0:
      text[at] = static_cast<char>(source.below(256));
      return;
    case 1:
      text.erase(at, source.between(1, 8));
      return;
    case 2:
      text.insert(at, 1, static_cast<char>(source.below(256)));
      return;
    case 3:
      text.insert(at, text.substr(source.below(size), source.between(1, 30)));
      return;
    case 4:
      text.resize(at);
      return;
    default:  // digits are where a damaged trace stays a trace
      if (std::size_t const digit = text.find_first_of("0123456789", at);
          digit != std::string::npos) {
        text[digit] = static_cast<char>('0' + source.below(10));
      }
  }
}

TEST(Trace, DamagedTextIsRefusedOrIsATraceThatRuns) {
  constexpr std::uint32_t kDamages = 20000;
  Source source{7};
  fuzz::Runner runner{load_geometry("tiny"), {}};
  std::uint32_t accepted = 0;
  for (std::uint32_t base = 0; base < kDamages / 100; ++base) {
    std::string const whole = generated("tiny", base);
    for (std::uint32_t i = 0; i < 100; ++i) {
      std::string text = whole;
      for (std::uint32_t times = source.between(1, 3); times != 0; --times) {
        damage(source, text);
      }
      Trace trace;
      try {
        trace = parse_trace(text, "x");
      } catch (InputError const& error) {
        ASSERT_EQ(std::string_view{error.what()}.substr(0, 2), "x:") << error.what();
        continue;
      }
      ++accepted;
      ASSERT_EQ(print_trace(parse_trace(print_trace(trace), "x")), print_trace(trace));
      fuzz::ProgramResult const ran = runner.run_ops(trace.ops);
      ASSERT_FALSE(ran.failure) << print_trace(trace);
    }
  }
  EXPECT_GT(accepted, kDamages / 20);
  EXPECT_LT(accepted, kDamages);
}

}  // namespace
}  // namespace holdfast::model
