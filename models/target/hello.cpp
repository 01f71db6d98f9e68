// SPDX-License-Identifier: Apache-2.0
#include "models/target/hello.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "models/input_error.hpp"

namespace holdfast::model {
namespace {

constexpr std::array<char const*, static_cast<std::size_t>(Condition::kCount)> kConditions = {
    "any",
    "partial",
    "middle",
    "deeper",
    "window",
    "full",
    "longer",
    "live",
    "empty",
    "damaged",
    "bounded",
    "last"};

constexpr std::size_t kMostKnobs = 16;
constexpr std::uint32_t kMostSequences = 64;
constexpr std::uint32_t kMostVocabulary = 1U << 18U;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    std::size_t const end = std::min(line.find(' '), line.size());
    if (end != 0) {
      words.push_back(line.substr(0, end));
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const whole = error == std::errc{} && end == text.data() + text.size();
  return whole && !text.empty() ? std::optional{value} : std::nullopt;
}

std::pair<std::string, std::string> field_of(std::string_view word) {
  std::size_t const equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InputError("expected name=value, found " + quoted(word));
  }
  return {std::string{word.substr(0, equals)}, std::string{word.substr(equals + 1)}};
}

KnobNumber knob_number(std::string_view text) {
  auto const value = number_in(text);
  return value ? KnobNumber{*value, {}} : KnobNumber{0, std::string{text}};
}

std::uint32_t limit_in(std::string const& name, std::string const& text, std::uint32_t most) {
  auto const value = number_in(text);
  if (!value || *value == 0 || *value > most) {
    throw InputError("'" + name + "' is 1 to " + std::to_string(most) + ", not " + quoted(text));
  }
  return *value;
}

Clause parse_clause(std::vector<std::string_view> const& words) {
  Clause clause;
  if (words.size() < 3) {
    throw InputError("expected an operation and when=CONDITION");
  }
  clause.kind = engine_kind_named(words[1]);
  auto const [name, condition] = field_of(words[2]);
  if (clause.kind == EngineKind::kCount || name != "when") {
    throw InputError("expected an operation that is known and when=CONDITION, found " +
                     quoted(words[1]) + " and " + quoted(words[2]));
  }
  parse_condition(condition, clause);
  for (std::size_t i = 3; i < words.size(); ++i) {
    clause.knobs.insert(field_of(words[i]));
  }
  return clause;
}

void add_limits(std::vector<std::string_view> const& words, Hello& hello) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    auto const [name, text] = field_of(words[i]);
    if (name == "vocabulary") {
      hello.vocabulary = limit_in(name, text, kMostVocabulary);
    } else if (name == "sequences") {
      hello.sequences = limit_in(name, text, kMostSequences);
    } else if (name == "context") {
      hello.context = limit_in(name, text, 1U << 20U);
    } else if (name == "batch") {
      hello.batch = limit_in(name, text, 1U << 20U);
    } else {
      throw InputError("no limit is called " + quoted(name));
    }
  }
}

KnobInfo parse_knob(std::string_view word) {
  auto const [name, values] = field_of(word);
  KnobInfo knob{.name = name};
  std::string_view rest = values;
  while (!rest.empty()) {
    std::string_view const value = rest.substr(0, rest.find(','));
    knob.values.emplace_back(value);
    rest.remove_prefix(std::min(rest.size(), value.size() + 1));
  }
  if (knob.values.empty() || name == "seed") {
    throw InputError("a knob has values, and is not called seed");
  }
  return knob;
}

void add_line(std::vector<std::string_view> const& words, std::string const& line, Hello& hello) {
  std::string_view const word = words.empty() ? std::string_view{} : words.front();
  bool const has_one = words.size() >= 2;
  if (word == "engine") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      auto const [name, value] = field_of(words[i]);
      (name == "name" ? hello.engine : hello.version) = value;
    }
  } else if (word == "limits") {
    add_limits(words, hello);
  } else if (word == "operation" && has_one) {
    EngineKind const kind = engine_kind_named(words[1]);
    if (kind == EngineKind::kCount) {
      hello.unknown.push_back(line);
    } else {
      hello.operations |= std::uint64_t{1} << static_cast<std::uint32_t>(kind);
    }
  } else if (word == "knob" && has_one) {
    hello.knobs.push_back(parse_knob(words[1]));
  } else if (word == "edge" && has_one) {
    auto const [name, number] = field_of(words[1]);
    hello.edges.push_back({name, knob_number(number)});
  } else if (word == "legal") {
    hello.legal.push_back(parse_clause(words));
  } else if (word == "weak") {
    hello.weak.push_back(parse_clause(words));
  } else {
    hello.unknown.push_back(line);
  }
}

bool has_knob(Hello const& hello, std::string const& name) {
  return std::any_of(hello.knobs.begin(), hello.knobs.end(), [&](KnobInfo const& knob) {
    return knob.name == name;
  });
}

void check_knob(Hello const& hello, std::string const& name) {
  if (!name.empty() && !has_knob(hello, name)) {
    throw InputError("hello: " + quoted(name) + " is neither a number nor a knob");
  }
}

void check(Hello const& hello) {
  if (hello.vocabulary == 0 || hello.sequences == 0 || hello.context == 0 || hello.batch == 0) {
    throw InputError("hello: limits are missing (vocabulary, sequences, context, batch)");
  }
  if (!hello.has(EngineKind::kDecode)) {
    throw InputError("hello: an engine needs at least 'operation decode'");
  }
  if (hello.knobs.size() > kMostKnobs) {
    throw InputError("hello: more than " + std::to_string(kMostKnobs) + " knobs");
  }
  for (EdgeInfo const& edge : hello.edges) {
    check_knob(hello, edge.number.knob);
  }
  for (auto const* clauses : {&hello.legal, &hello.weak}) {
    for (Clause const& clause : *clauses) {
      check_knob(hello, clause.number.knob);
      for (auto const& [name, value] : clause.knobs) {
        check_knob(hello, name);
      }
    }
  }
}

}  // namespace

std::string text_of(Knobs const& knobs) {
  std::string text;
  for (auto const& [name, value] : knobs) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  return text;
}

Knobs parse_knobs(std::string_view text, std::string const& origin) {
  Knobs knobs;
  try {
    for (std::string_view const word : words_of(text)) {
      if (!knobs.insert(field_of(word)).second) {
        throw InputError(quoted(word) + " names a knob a second time");
      }
    }
  } catch (InputError const& error) {
    throw InputError(origin + ": knobs: " + error.what());
  }
  return knobs;
}

std::uint32_t KnobNumber::under(Knobs const& knobs) const {
  auto const found = knobs.find(knob);
  return found == knobs.end() ? value : number_in(found->second).value_or(value);
}

char const* name_of(Condition condition) noexcept {
  return kConditions[static_cast<std::size_t>(condition)];
}

bool Clause::is_for(EngineKind other, Knobs const& set) const {
  return kind == other && std::all_of(knobs.begin(), knobs.end(), [&](auto const& wanted) {
           auto const found = set.find(wanted.first);
           return found != set.end() &&
                  ("," + wanted.second + ",").find("," + found->second + ",") != std::string::npos;
         });
}

Knobs Hello::completed(Knobs const& some, std::string const& origin) const {
  Knobs all;
  for (KnobInfo const& knob : knobs) {
    auto const found = some.find(knob.name);
    std::string const value = found == some.end() ? knob.values.front() : found->second;
    if (std::find(knob.values.begin(), knob.values.end(), value) == knob.values.end()) {
      throw InputError(origin + ": the engine's knob " + knob.name + " has no value " +
                       quoted(value));
    }
    all[knob.name] = value;
  }
  for (auto const& [name, value] : some) {
    if (all.count(name) == 0) {
      throw InputError(origin + ": the engine has no knob " + quoted(name));
    }
  }
  return all;
}

void parse_condition(std::string_view text, Clause& clause) {
  std::string_view const name = text.substr(0, text.find(':'));
  std::string_view const number = text.substr(std::min(text.size(), name.size() + 1));
  auto const found = std::find(kConditions.begin(), kConditions.end(), name);
  if (found == kConditions.end()) {
    throw InputError("no condition is called " + quoted(name));
  }
  clause.condition = static_cast<Condition>(found - kConditions.begin());
  bool const needs_number = clause.condition == Condition::kDeeper ||
                            clause.condition == Condition::kWindow ||
                            clause.condition == Condition::kLonger;
  if (needs_number == number.empty()) {
    throw InputError("condition " + std::string{name} +
                     (needs_number ? " needs a number: " : " has no number: ") + quoted(text));
  }
  clause.number = needs_number ? knob_number(number) : KnobNumber{};
}

Hello parse_hello(std::vector<std::string> const& lines) {
  Hello hello;
  std::size_t number = 0;
  for (std::string const& line : lines) {
    ++number;
    try {
      if (number < lines.size()) {
        add_line(words_of(line), line, hello);
      } else if (line.rfind("ok protocol=", 0) == 0) {
        hello.protocol = limit_in("protocol", line.substr(12), 1);
      } else {
        throw InputError("expected 'ok protocol=1', found " + quoted(line));
      }
    } catch (InputError const& error) {
      throw InputError("line " + std::to_string(number) + " of hello: " + error.what());
    }
  }
  check(hello);
  return hello;
}

}  // namespace holdfast::model
