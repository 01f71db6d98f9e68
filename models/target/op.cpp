// SPDX-License-Identifier: Apache-2.0
#include "models/target/op.hpp"

#include <algorithm>
#include <charconv>

#include "models/input_error.hpp"

namespace holdfast::model {
namespace {

constexpr EngineKindInfo kKinds[] = {
#define HOLDFAST_ENGINE_OP(kind, name, weight, fields, traits, meaning) \
  {name, weight, fields, traits, meaning},
#include "models/target/op_table.def"
};

constexpr std::string_view kVersionLine = "holdfast-trace 1";
constexpr std::uint32_t kMostNumber = 1U << 23U;
constexpr std::uint32_t kMostName = 63;

/// A field with a number: its name, a letter before the number, where it is, and when it is not written.
struct NumberField {
  EngineField field;
  char const* name;
  char const* letter;
  std::uint32_t EngineOp::*value;
  std::uint32_t silent;  // the value that is not written
};

constexpr std::uint32_t kAlways = UINT32_MAX - 1;

constexpr NumberField kNumbers[] = {
    {kSequence, "sequence", "s", &EngineOp::sequence, kAlways},
    {kTo, "to", "s", &EngineOp::to, kAlways},
    {kEntry, "entry", "e", &EngineOp::entry, kAlways},
    {kSnapshotName, "snapshot", "h", &EngineOp::snapshot, kAlways},
    {kRows, "rows", "", &EngineOp::rows, kAlways},
    {kToken, "token", "", &EngineOp::token, kAlways},
    {kKeep, "keep", "", &EngineOp::keep, kAlways},
    {kFirst, "first", "", &EngineOp::first, 0},
    {kEnd, "end", "", &EngineOp::end, kNoBound},
    {kFlip, "flip", "", &EngineOp::flip, 0},
    {kCut, "cut", "", &EngineOp::cut, 0},
};

void add_field(std::string& text, char const* name, std::string const& value) {
  text += ' ';
  text += name;
  text += '=';
  text += value;
}

/// Prints all fields but those of tokens.
void print_numbers(EngineOp const& op, std::string& text, bool with_tokens) {
  EngineKindInfo const& info = info_of(op.kind);
  for (NumberField const& number : kNumbers) {
    bool const is_token = number.field == kRows || number.field == kToken;
    std::uint32_t const value = op.*number.value;
    if (info.has(number.field) && value != number.silent && (with_tokens || !is_token)) {
      add_field(text, number.name, number.letter + std::to_string(value));
    }
  }
  if (info.has(kBy)) {
    add_field(text, "by", std::to_string(op.by));
  }
}

/// One line of a trace while it is read.
class Reader {
 public:
  Reader(std::string_view line, std::string const& origin, std::size_t number)
      : line_{line}, origin_{origin}, number_{number} {}

  [[noreturn]] void fail(std::string const& what) const {
    throw InputError(origin_ + ":" + std::to_string(number_) + ":" + std::to_string(start_ + 1) +
                     ": " + what);
  }
  std::string_view word() {
    at_ = std::min(line_.find_first_not_of(' ', at_), line_.size());
    start_ = at_;
    at_ = std::min(line_.find(' ', at_), line_.size());
    return line_.substr(start_, at_ - start_);
  }
  template <typename T>
  T number(std::string_view text, std::string const& field, T most) const {
    T value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
      fail(quoted(text) + " is no number for '" + field + "'");
    }
    if (value > most || value < -static_cast<std::int64_t>(kMostNumber)) {
      fail("'" + field + "' is at most " + std::to_string(most));
    }
    return value;
  }
  [[nodiscard]] EngineItem item(std::string_view text) const {
    std::array<std::string_view, 4> pieces;
    for (std::string_view& piece : pieces) {
      piece = text.substr(0, text.find(':'));
      text.remove_prefix(std::min(text.size(), piece.size() + 1));
    }
    if (pieces[0].empty() || pieces[0].front() != 's' || !text.empty()) {
      fail("an item is sSEQUENCE:ROWS:TOKEN:ASK");
    }
    auto const ask = std::find(kAskNames.begin(), kAskNames.end(), pieces[3]);
    if (ask == kAskNames.end()) {
      fail("an item asks for none, last, first, second or all, not " + quoted(pieces[3]));
    }
    auto const rows = number(pieces[1], "rows", kMostItemRows);
    if (rows == 0) {
      fail("an item has one row at least");
    }
    return {number(pieces[0].substr(1), "sequence", kMostName),
            rows,
            number(pieces[2], "token", kMostNumber),
            static_cast<Ask>(ask - kAskNames.begin())};
  }

 private:
  std::string_view line_;
  std::string const& origin_;
  std::size_t number_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
};

void read_items(Reader const& reader, std::string_view text, EngineOp& op) {
  while (!text.empty()) {
    std::string_view const item = text.substr(0, text.find(','));
    op.items.push_back(reader.item(item));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
  if (op.items.empty() || op.items.size() > kMostItems) {
    reader.fail("a batch has 1 to " + std::to_string(kMostItems) + " items");
  }
}

/// Reads "name=value" into the field with that name; the field, or nothing when the kind has none.
EngineField read_field(Reader const& reader, std::string_view word, EngineOp& op) {
  EngineKindInfo const& info = info_of(op.kind);
  std::string_view const name = word.substr(0, word.find('='));
  std::string_view const value = word.substr(std::min(word.size(), name.size() + 1));
  if (info.has(kItems) && name == "items") {
    read_items(reader, value, op);
    return kItems;
  }
  if (info.has(kBy) && name == "by") {
    op.by = reader.number<std::int32_t>(value, "by", static_cast<std::int32_t>(kMostNumber));
    return kBy;
  }
  for (NumberField const& number : kNumbers) {
    if (!info.has(number.field) || name != number.name) {
      continue;
    }
    std::string_view const letter = number.letter;
    if (value.substr(0, letter.size()) != letter) {
      reader.fail("expected '" + std::string{name} + "=" + number.letter + "...', found " +
                  quoted(word));
    }
    std::uint32_t const most = !letter.empty()         ? kMostName
                               : number.field == kRows ? kMostItemRows
                                                       : kMostNumber;
    op.*number.value = reader.number(value.substr(letter.size()), number.name, most);
    return number.field;
  }
  reader.fail("'" + std::string{info.name} + "' has no field " + quoted(name));
}

void add_tokens(std::string& text, EngineItem const& item, std::uint32_t vocabulary) {
  for (std::uint32_t row = 0; row < item.rows; ++row) {
    text += row == 0 ? "" : ".";
    text += std::to_string((item.token + row) % vocabulary);
    text += item.wants(row) ? "!" : "";
  }
}

}  // namespace

bool EngineItem::wants(std::uint32_t row) const noexcept {
  switch (ask) {
    case Ask::kNone:
      return false;
    case Ask::kLast:
      return row + 1 == rows;
    case Ask::kFirst:
      return row == 0;
    case Ask::kEverySecond:
      return row % 2 == 1;
    case Ask::kAll:
      return true;
  }
  return false;
}

EngineKindInfo const& info_of(EngineKind kind) noexcept {
  return kKinds[static_cast<std::uint32_t>(kind)];
}

EngineKind saver_of(EngineKind kind) noexcept {
  return kind == EngineKind::kLoad       ? EngineKind::kSave
         : kind == EngineKind::kLoadAll  ? EngineKind::kSaveAll
         : kind == EngineKind::kLoadPart ? EngineKind::kSavePart
                                         : EngineKind::kCount;
}

EngineKind engine_kind_named(std::string_view name) noexcept {
  std::uint32_t kind = 0;
  while (kind < kEngineKindCount && name != kKinds[kind].name) {
    ++kind;
  }
  return static_cast<EngineKind>(kind);
}

std::uint32_t rows_of(EngineOp const& op) noexcept {
  std::uint32_t rows = op.kind == EngineKind::kDraft ? op.rows : 0;
  for (EngineItem const& item : op.items) {
    rows += item.rows;
  }
  return rows;
}

std::uint32_t last_sequence_of(EngineOp const& op) noexcept {
  std::uint32_t last = std::max(op.sequence, op.to);
  for (EngineItem const& item : op.items) {
    last = std::max(last, item.sequence);
  }
  return last;
}

std::uint32_t wanted_of(EngineOp const& op) noexcept {
  std::uint32_t wanted = op.kind == EngineKind::kDraft ? op.rows : 0;
  for (EngineItem const& item : op.items) {
    for (std::uint32_t row = 0; row < item.rows; ++row) {
      wanted += item.wants(row) ? 1U : 0U;
    }
  }
  return wanted;
}

std::string text_of(EngineOp const& op) {
  std::string text = name_of(op);
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    EngineItem const& item = op.items[i];
    text += i == 0 ? " items=s" : ",s";
    text += std::to_string(item.sequence) + ":" + std::to_string(item.rows) + ":" +
            std::to_string(item.token) + ":" + kAskNames[static_cast<std::size_t>(item.ask)];
  }
  print_numbers(op, text, true);
  return text;
}

std::string wire_of(EngineOp const& op, std::uint32_t vocabulary) {
  std::string text = name_of(op);
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    text += i == 0 ? " items=s" : ",s";
    text += std::to_string(op.items[i].sequence) + ":";
    add_tokens(text, op.items[i], vocabulary);
  }
  print_numbers(op, text, false);
  if (op.kind == EngineKind::kDraft) {
    text += " tokens=";
    add_tokens(text, {.rows = op.rows, .token = op.token, .ask = Ask::kAll}, vocabulary);
  }
  return text;
}

EngineOp parse_engine_op(std::string_view line, std::string const& origin, std::size_t number) {
  Reader reader{line, origin, number};
  std::string_view const name = reader.word();
  EngineOp op{.kind = engine_kind_named(name)};
  if (op.kind == EngineKind::kCount) {
    reader.fail("no operation of engines is called " + quoted(name));
  }
  std::uint32_t seen = 0;
  for (std::string_view word = reader.word(); !word.empty(); word = reader.word()) {
    seen |= read_field(reader, word, op);
  }
  std::uint32_t const optional = std::uint32_t{kFirst} | kEnd | kFlip | kCut;
  if (std::uint32_t const missing = info_of(op.kind).fields & ~(seen | optional); missing != 0) {
    for (NumberField const& field : kNumbers) {
      if ((missing & field.field) != 0) {
        reader.fail("the field '" + std::string{field.name} + "=...' is missing");
      }
    }
    reader.fail((missing & kItems) != 0 ? "the field 'items=...' is missing"
                                        : "the field 'by=...' is missing");
  }
  if (op.kind == EngineKind::kDraft && (op.rows == 0 || op.keep > op.rows)) {
    reader.fail("a draft has rows, and keeps at most those");
  }
  return op;
}

std::string print_engine_trace(EngineTrace const& trace) {
  std::string text;
  for (std::string const& comment : trace.comments) {
    text += "#" + comment + "\n";
  }
  text += std::string{kVersionLine} + "\ntarget " + trace.target + "\n";
  text += trace.knobs.empty() ? "knobs\n" : "knobs " + trace.knobs + "\n";
  for (EngineOp const& op : trace.ops) {
    text += text_of(op) + "\n";
  }
  return text;
}

EngineTrace parse_engine_trace(std::string_view text, std::string const& origin) {
  EngineTrace trace;
  std::uint32_t headers = 0;
  std::size_t number = 0;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view const line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') {
      if (headers == 0 && !line.empty()) {
        trace.comments.emplace_back(line.substr(1));
      }
      continue;
    }
    std::string_view const word = line.substr(0, line.find(' '));
    std::string_view const rest = line.substr(std::min(line.size(), word.size() + 1));
    char const* const wanted[] = {"holdfast-trace", "target", "knobs"};
    if (headers < 3 && (word != wanted[headers] || (headers == 0 && line != kVersionLine) ||
                        (headers == 1 && rest.empty()))) {
      throw InputError(origin + ":" + std::to_string(number) + ":1: expected '" + wanted[headers] +
                       (headers == 0 ? " 1" : " ...") + "', found " + quoted(line));
    }
    if (headers == 1) {
      trace.target = rest;
    } else if (headers == 2) {
      trace.knobs = rest;
    } else if (headers > 2) {
      trace.ops.push_back(parse_engine_op(line, origin, number));
    }
    ++headers;
  }
  if (trace.ops.empty()) {
    throw InputError(origin + ":" + std::to_string(std::max<std::size_t>(number, 1)) +
                     ":1: the trace has no operation");
  }
  return trace;
}

bool is_engine_trace(std::string_view text) noexcept {
  std::size_t const at = text.find("holdfast-trace ");
  std::size_t const line = at == std::string_view::npos ? at : text.find('\n', at);
  return line != std::string_view::npos && text.substr(line + 1, 7) == "target ";
}

}  // namespace holdfast::model
