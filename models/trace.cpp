// SPDX-License-Identifier: Apache-2.0
// Printer and parser of traces; both go through the operations' field lists.
#include "models/trace.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>
#include <utility>

#include "models/input_error.hpp"
#include "models/line_reader.hpp"
#include "models/read_file.hpp"
#include "models/systems.hpp"

namespace holdfast::model {
namespace {

constexpr std::string_view kVersionWord = "holdfast-trace";
constexpr std::uint32_t kVersion = 1;

void append_number(std::string& text, std::uint32_t value) {
  char digits[16];
  auto const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(digits, end);
}

void append_key(std::string& text, TokenKey key) {
  char digits[16];
  text += "0x";
  text.append(digits, std::to_chars(digits, digits + sizeof digits, key, 16).ptr);
}

/// Names of what an item of a step does, in the order of StepDeed.
constexpr char const* kDeeds[] = {"append", "verify", "pad"};
static_assert(std::size(kDeeds) == kStepDeedCount);

/// Names of what a handle does to the state, in the order of StateMode.
constexpr char const* kStateModes[] = {"fresh", "inplace", "rescan"};
static_assert(std::size(kStateModes) == kStateModeCount);
/// Names of what is wrong with bytes, in the order of Damage.
constexpr char const* kDamages[] = {
    "flip", "cut", "longer", "magic", "version", "layout", "ranks", "tokens", "scope"};
static_assert(std::size(kDamages) == kDamageCount);
/// Names of the calls that a fault is for, in the order of FaultKind.
constexpr char const* kFaultKinds[] = {
    "any", "allocation", "copy", "launch", "event", "synchronize", "lost", "stall"};
static_assert(std::size(kFaultKinds) == kFaultKindCount);
/// Names of what becomes of a part of a write, in the order of Liberty.
constexpr char const* kLiberties[] = {"none", "omit", "short", "look", "twice", "other"};
static_assert(std::size(kLiberties) == kLibertyCount);
/// Names of what is wrong with a call, in the order of Mistake.
constexpr char const* kMistakes[] = {"none", "rank", "plane", "layer", "range", "count", "source"};
static_assert(std::size(kMistakes) == kMistakeCount);

/// Prints fields as " name=value".
struct FieldPrinter {
  std::string& text;

  void operator()(char const* name, std::uint32_t& value) const { print(name, "", value); }
  void operator()(char const* name, SequenceName& value) const { print(name, "s", value.value); }
  void operator()(char const* name, SnapshotName& value) const { print(name, "h", value.value); }
  void operator()(char const* name, StateMode& value) const {
    print_choice(name, kStateModes[static_cast<std::uint32_t>(value)]);
  }
  /// A field with a default is printed only when it differs.
  template <typename T>
  void operator()(char const* name, T& value, T const& fallback) const {
    if (!(value == fallback)) {
      (*this)(name, value);
    }
  }
  void operator()(char const* name, EntryName& value) const { print(name, "e", value.value); }
  void operator()(char const* name, Damage& value) const {
    print_choice(name, kDamages[static_cast<std::uint32_t>(value)]);
  }
  void operator()(char const* name, FaultKind& value) const {
    print_choice(name, kFaultKinds[static_cast<std::uint32_t>(value)]);
  }
  /// "omit,part:3,via:1,wrong:rank,reversed": what is as usual is left out.
  void operator()(char const* name, WritePlan& plan) const {
    print_choice(name, kLiberties[static_cast<std::uint32_t>(plan.liberty)]);
    if (plan.part != 0) {
      text += ",part:";
      append_number(text, plan.part);
    }
    if (plan.via != kStreamNames) {
      text += ",via:";
      append_number(text, plan.via);
    }
    if (plan.mistake != Mistake::kNone) {
      text += ",wrong:";
      text += kMistakes[static_cast<std::uint32_t>(plan.mistake)];
    }
    text += plan.reversed ? ",reversed" : "";
  }
  void operator()(char const* name, KeyRule& keys) const {
    print_choice(name, "");
    print_keys(keys);
  }
  /// "0xff" for one key, "0x0.2.0xffff" for two in turn.
  void print_keys(KeyRule const& keys) const {
    append_key(text, keys.key);
    if (keys.period != 1 || keys.step != 0) {
      text += '.';
      append_number(text, keys.period);
      text += '.';
      append_key(text, keys.step);
    }
  }
  void print_choice(char const* name, char const* choice) const {
    text += ' ';
    text += name;
    text += '=';
    text += choice;
  }
  void operator()(char const* name, StepParts& items) const {
    text += ' ';
    text += name;
    text += '=';
    for (std::uint32_t i = 0; i < items.count; ++i) {
      text += i == 0 ? "" : ",";
      print_part(items.parts[i]);
    }
  }
  void print_part(StepPart const& part) const {
    text += kDeeds[static_cast<std::uint32_t>(part.deed)];
    if (part.deed != StepDeed::kPad) {
      text += ":s";
      append_number(text, part.sequence.value);
    }
    text += ':';
    append_number(text, part.rows);
    if (part.deed != StepDeed::kPad) {
      text += ':';
      append_number(text, part.keep);
      text += ':';
      append_number(text, part.token);
    }
    if (part.mode != StateMode::kFresh) {
      text += ':';
      text += kStateModes[static_cast<std::uint32_t>(part.mode)];
    }
    if (!part.keys.is_own()) {
      text += ':';
      print_keys(part.keys);
    }
  }
  void print(char const* name, char const* prefix, std::uint32_t value) const {
    text += ' ';
    text += name;
    text += '=';
    text += prefix;
    append_number(text, value);
  }
};

/// Reads fields in their order.
struct FieldParser {
  LineReader& reader;

  void operator()(char const* name, std::uint32_t& value) const { value = read(name, ""); }
  void operator()(char const* name, SequenceName& value) const {
    value.value = read_name(name, "s");
  }
  void operator()(char const* name, SnapshotName& value) const {
    value.value = read_name(name, "h");
  }
  void operator()(char const* name, StateMode& value) const {
    std::string_view const text = value_of(name, "");
    value = read_mode(text, reader.start() + std::string_view{name}.size() + 1);
  }
  /// A field with a default may be missing.
  template <typename T>
  void operator()(char const* name, T& value, T const& fallback) const {
    if (reader.next_is(std::string{name} + "=")) {
      (*this)(name, value);
    } else {
      value = fallback;
    }
  }
  void operator()(char const* name, EntryName& value) const { value.value = read_name(name, "e"); }
  void operator()(char const* name, Damage& value) const {
    value = static_cast<Damage>(read_choice(name, kDamages, " is no damage that is known"));
  }
  void operator()(char const* name, FaultKind& value) const {
    value = static_cast<FaultKind>(read_choice(name, kFaultKinds, " is no call that is known"));
  }
  void operator()(char const* name, WritePlan& plan) const {
    std::string_view rest = value_of(name, "");
    std::size_t column = reader.start() + std::string_view{name}.size() + 1;
    plan = {};
    bool has_more = true;
    for (bool is_first = true; has_more; is_first = false) {
      std::string_view const word = rest.substr(0, rest.find(','));
      read_plan_word(plan, word, column, is_first);
      has_more = word.size() < rest.size();
      rest.remove_prefix(word.size() + (has_more ? 1 : 0));
      column += word.size() + 1;
    }
  }
  void read_plan_word(WritePlan& plan,
                      std::string_view word,
                      std::size_t column,
                      bool is_first) const {
    std::string_view const key = word.substr(0, std::min(word.find(':'), word.size() - 1) + 1);
    std::string_view const value = word.substr(key.size());
    column += key.size();
    if (is_first) {
      plan.liberty = static_cast<Liberty>(
          choice_of(word, column - key.size(), kLiberties, " is nothing that a write may do"));
    } else if (key == "part:") {
      plan.part = reader.number(value, column, "part");
    } else if (key == "via:") {
      plan.via = reader.number(value, column, "via");
    } else if (key == "wrong:") {
      plan.mistake =
          static_cast<Mistake>(choice_of(value, column, kMistakes, " is no mistake that is known"));
    } else if (word == "reversed") {
      plan.reversed = true;
    } else {
      reader.fail(column - key.size(),
                  "a plan has part, via, wrong and reversed, not " + quoted(word));
    }
  }
  void operator()(char const* name, KeyRule& keys) const {
    std::string_view const text = value_of(name, "");
    keys = read_keys(text, reader.start() + std::string_view{name}.size() + 1);
  }
  /// "0xff" or "0x0.2.0xffff": the key, the period and the step.
  KeyRule read_keys(std::string_view text, std::size_t column) const {
    std::string_view const key = next_piece(text, '.');
    KeyRule keys{.key = read_key(key, column), .period = 1};
    if (!text.empty()) {
      column += key.size() + 1;
      std::string_view const period = next_piece(text, '.');
      keys.period = reader.number(period, column, "period");
      keys.step = read_key(text, column + period.size() + 1);
    }
    if (keys.is_own()) {
      reader.fail(column, "the period of keys is at least 1");
    }
    return keys;
  }
  TokenKey read_key(std::string_view text, std::size_t column) const {
    constexpr std::string_view kHex = "0x";
    TokenKey key = 0;
    std::string_view const digits = text.substr(std::min(kHex.size(), text.size()));
    auto const [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), key, 16);
    if (text.substr(0, kHex.size()) != kHex || digits.empty() || error != std::errc{} ||
        end != digits.data() + digits.size()) {
      reader.fail(column, quoted(text) + " is no key: 0x and up to 16 digits");
    }
    return key;
  }
  std::uint32_t read_choice(char const* name,
                            std::span<char const* const> choices,
                            char const* unknown) const {
    std::string_view const word = value_of(name, "");
    return choice_of(word, reader.start() + std::string_view{name}.size() + 1, choices, unknown);
  }
  std::uint32_t choice_of(std::string_view word,
                          std::size_t column,
                          std::span<char const* const> choices,
                          char const* unknown) const {
    std::uint32_t choice = 0;
    while (choice < choices.size() && word != choices[choice]) {
      ++choice;
    }
    if (choice == choices.size()) {
      reader.fail(column, quoted(word) + unknown);
    }
    return choice;
  }

  void operator()(char const* name, StepParts& items) const {
    std::string_view rest = value_of(name, "");
    std::size_t column = reader.start() + std::string_view{name}.size() + 1;
    while (!rest.empty()) {
      if (items.count == kStepItemLimit) {
        reader.fail(column, "a step has at most " + std::to_string(kStepItemLimit) + " items");
      }
      std::size_t const end = std::min(rest.find(','), rest.size());
      items.parts[items.count++] = read_part(rest.substr(0, end), column);
      bool const more = end < rest.size();
      rest.remove_prefix(more ? end + 1 : end);
      column += end + 1;
      if (more && rest.empty()) {
        reader.fail(column, "an item is missing after ','");
      }
    }
    if (items.count == 0) {
      reader.fail(column, "a step needs an item");
    }
  }

  StateMode read_mode(std::string_view text, std::size_t column) const {
    std::uint32_t mode = 0;
    std::string known;
    while (mode < std::size(kStateModes) && text != kStateModes[mode]) {
      known += (mode == 0 ? "" : ", ") + std::string{kStateModes[mode]};
      ++mode;
    }
    if (mode == std::size(kStateModes)) {
      reader.fail(column, quoted(text) + " is no mode (known: " + known + ")");
    }
    return static_cast<StateMode>(mode);
  }

  /// "append:s0:rows:keep:token", "verify:s0:rows:keep:token" or "pad:rows"; the first two may end
  /// in ":mode", ":keys" or both.
  StepPart read_part(std::string_view text, std::size_t column) const {
    StepPart part;
    std::string_view const deed = next_piece(text, ':');
    std::uint32_t kind = 0;
    while (kind < std::size(kDeeds) && deed != kDeeds[kind]) {
      ++kind;
    }
    if (kind == std::size(kDeeds)) {
      reader.fail(column, "an item is append, verify or pad, not " + quoted(deed));
    }
    part.deed = static_cast<StepDeed>(kind);
    column += deed.size() + 1;
    bool const is_pad = part.deed == StepDeed::kPad;
    if (!is_pad) {
      std::string_view const name = next_piece(text, ':');
      if (name.empty() || name.front() != 's') {
        reader.fail(column, "expected a sequence 's...', found " + quoted(name));
      }
      part.sequence.value = reader.number(name.substr(1), column + 1, "sequence");
      if (part.sequence.value >= kNameLimit) {
        reader.fail(column,
                    "'sequence' goes past the last name s" + std::to_string(kNameLimit - 1));
      }
      column += name.size() + 1;
    }
    std::uint32_t* const numbers[] = {&part.rows, &part.keep, &part.token};
    char const* const names[] = {"rows", "keep", "token"};
    for (std::uint32_t i = 0; i < (is_pad ? 1U : 3U); ++i) {
      std::string_view const number = next_piece(text, ':');
      *numbers[i] = reader.number(number, column, names[i]);
      column += number.size() + 1;
    }
    constexpr char kFirstOfKey = '0';
    if (!is_pad && !text.empty() && text.front() != kFirstOfKey) {
      std::string_view const mode = next_piece(text, ':');
      part.mode = read_mode(mode, column);
      column += mode.size() + 1;
    }
    if (!is_pad && !text.empty() && text.front() == kFirstOfKey) {
      std::string_view const keys = next_piece(text, ':');
      part.keys = read_keys(keys, column);
      column += keys.size() + 1;
    }
    if (!text.empty()) {
      reader.fail(column, "unexpected " + quoted(text) + " in an item");
    }
    return part;
  }

  static std::string_view next_piece(std::string_view& text, char separator) {
    std::size_t const end = std::min(text.find(separator), text.size());
    std::string_view const piece = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return piece;
  }

  std::uint32_t read_name(char const* name, std::string_view prefix) const {
    std::uint32_t const value = read(name, prefix);
    if (value >= kNameLimit) {
      reader.fail(reader.start(),
                  "'" + std::string{name} + "' goes past the last name " + std::string{prefix} +
                      std::to_string(kNameLimit - 1));
    }
    return value;
  }
  std::uint32_t read(char const* name, std::string_view prefix) const {
    std::string_view const value = value_of(name, prefix);
    std::size_t const offset = std::string_view{name}.size() + 1 + prefix.size();
    return reader.number(value, reader.start() + offset, name);
  }
  /// What stands behind "name=prefix" in the next word.
  std::string_view value_of(char const* name, std::string_view prefix) const {
    std::string_view const word = reader.word();
    std::string const wanted = std::string{name} + "=" + std::string{prefix};
    if (word.substr(0, wanted.size()) != wanted) {
      reader.fail(reader.start(),
                  word.empty() ? "the field '" + wanted + "...' is missing"
                               : "expected '" + wanted + "...', found " + quoted(word));
    }
    return word.substr(wanted.size());
  }
};

template <std::uint32_t I = 0>
bool parse_kind(std::string_view name, LineReader& reader, AnyOp& op) {
  if constexpr (I < AllOps::kCount) {
    if (name != AllOps::kNames[I]) {
      return parse_kind<I + 1>(name, reader, op);
    }
    FieldParser parser{reader};
    op.emplace<I>().fields(parser);
    return true;
  } else {
    return false;
  }
}

AnyOp parse_op(LineReader& reader) {
  std::string_view const name = reader.word();
  std::size_t const column = reader.start();
  AnyOp op;
  if (!parse_kind(name, reader, op)) {
    reader.fail(column, "no operation is called " + quoted(name));
  }
  reader.expect_end();
  return op;
}

void parse_version(LineReader& reader) {
  if (std::string_view const word = reader.word(); word != kVersionWord) {
    reader.fail(reader.start(),
                "expected '" + std::string{kVersionWord} + " 1', found " + quoted(word));
  }
  std::string_view const version = reader.word();
  std::size_t const column = reader.start();
  if (reader.number(version, column, "version") != kVersion) {
    reader.fail(column,
                "trace version " + quoted(version) + " is not known; this program reads version 1");
  }
  reader.expect_end();
}

void parse_header(LineReader& reader, std::string_view key, std::string& value) {
  if (std::string_view const word = reader.word(); word != key) {
    reader.fail(reader.start(), "expected '" + std::string{key} + " ...', found " + quoted(word));
  }
  value = std::string{reader.rest()};
  if (value.empty()) {
    reader.fail(reader.start(), "'" + std::string{key} + "' needs a value");
  }
}

/// "device host", "system copying".
void parse_runner(LineReader& reader, std::string& value) {
  bool const is_system = reader.next_is("system ");
  parse_header(reader, is_system ? "system" : "device", value);
  if (!is_system && find_system(value) != nullptr) {
    reader.fail(reader.start(), quoted(value) + " is a system, no device");
  }
  try {
    if (is_system) {
      static_cast<void>(system_named(value));
    } else {
      static_cast<void>(device_from(value));
    }
  } catch (InputError const& error) {
    reader.fail(reader.start(), error.what());
  }
}

}  // namespace

std::string text_of(DeviceChoice const& device) {
  if (device.system != nullptr) {
    return device.system->name;
  }
  if (device.is_cuda) {
    return "cuda";
  }
  return device.is_simulated ? "sim " + std::to_string(device.seed) : "host";
}

DeviceChoice device_from(std::string const& text) {
  constexpr std::string_view kSim = "sim ";
  if (text == "host") {
    return {};
  }
  if (text == "cuda") {
    return {.is_cuda = true};
  }
  if (SystemInfo const* const system = find_system(text); system != nullptr) {
    return {.system = system == &library_system() ? nullptr : system};
  }
  DeviceChoice device{.is_simulated = true};
  char const* const end = text.data() + text.size();
  if (text.starts_with(kSim)) {
    auto const [last, error] = std::from_chars(text.data() + kSim.size(), end, device.seed);
    if (error == std::errc{} && last == end) {
      return device;
    }
  }
  throw InputError("device " + quoted(text) + " is not known; known: host, sim SEED, cuda");
}

void print_op(AnyOp const& op, std::string& text) {
  text += name_of(op);
  std::visit(
      [&](auto known) {
        FieldPrinter printer{text};
        known.fields(printer);
      },
      op);
}

std::string text_of(AnyOp const& op) {
  std::string text;
  print_op(op, text);
  return text;
}

std::vector<AnyOp> parse_ops(std::string_view text, std::string const& origin) {
  std::vector<AnyOp> ops;
  Lines lines{text};
  for (std::string_view line; lines.next(line);) {
    LineReader reader{line, origin, lines.number()};
    ops.push_back(parse_op(reader));
  }
  return ops;
}

std::string print_trace(Trace const& trace) {
  std::string text;
  for (std::string const& comment : trace.comments) {
    text += "#" + comment + "\n";
  }
  text += std::string{kVersionWord} + " " + std::to_string(kVersion) + "\n";
  bool const is_other = find_system(trace.device) != nullptr;
  text += "geometry " + trace.geometry + "\n" + (is_other ? "system " : "device ") + trace.device +
          "\n";
  for (AnyOp const& op : trace.ops) {
    print_op(op, text);
    text += '\n';
  }
  return text;
}

Trace parse_trace(std::string_view text, std::string const& origin) {
  Trace trace;
  Lines lines{text};
  std::string_view line;
  std::uint32_t headers = 0;
  while (lines.next(line)) {
    if (line.empty() || line.front() == '#') {
      if (headers == 0 && !line.empty()) {
        trace.comments.emplace_back(line.substr(1));
      }
      continue;
    }
    LineReader reader{line, origin, lines.number()};
    switch (headers) {
      case 0:
        parse_version(reader);
        break;
      case 1:
        parse_header(reader, "geometry", trace.geometry);
        break;
      case 2:
        parse_runner(reader, trace.device);
        break;
      default:
        trace.ops.push_back(parse_op(reader));
    }
    ++headers;
  }
  if (headers == 0) {
    throw InputError(origin + ":1:1: the trace is empty");
  }
  if (trace.ops.empty()) {
    throw InputError(origin + ":" + std::to_string(lines.number()) +
                     ":1: the trace has no operation");
  }
  return trace;
}

Trace load_trace(std::string const& path) {
  return parse_trace(read_file(path), path);
}

}  // namespace holdfast::model
