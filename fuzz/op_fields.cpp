// SPDX-License-Identifier: Apache-2.0
// Visitors of the operations' field lists.
#include "fuzz/op_fields.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "models/ops/names.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::StepDeed;
using model::StepPart;
using model::StepParts;

template <typename Visitor>
void visit_fields(AnyOp& op, Visitor& visitor) {
  std::visit([&](auto& known) { known.fields(visitor); }, op);
}

/// Mixes all fields into one number.
struct FieldDigest {
  std::uint64_t value;

  void add(std::uint64_t number) noexcept { value = model::mix(value, number); }
  template <typename T>
  void operator()(char const* name, T& field, T const& /*fallback*/) {
    (*this)(name, field);
  }
  template <typename T>
  void operator()(char const* /*name*/, T& field) {
    if constexpr (requires { field.value; }) {
      add(field.value);
    } else {
      add(static_cast<std::uint64_t>(field));
    }
  }
  void operator()(char const* /*name*/, model::WritePlan& plan) {
    if (plan.is_plain()) {
      return;
    }
    add((std::uint64_t{static_cast<std::uint32_t>(plan.liberty)} << 32U) |
        static_cast<std::uint32_t>(plan.mistake));
    add((std::uint64_t{plan.part} << 32U) | plan.via);
    add(plan.reversed ? 1 : 0);
  }
  void operator()(char const* /*name*/, model::KeyRule& keys) {
    if (!keys.is_own()) {
      add(keys.key);
      add(keys.period);
      add(keys.step);
    }
  }
  void operator()(char const* /*name*/, StepParts& items) {
    for (std::uint32_t i = 0; i < items.count; ++i) {
      StepPart& item = items.parts[i];
      add((std::uint64_t{item.rows} << 32U) | static_cast<std::uint32_t>(item.deed));
      if (item.deed != StepDeed::kPad) {
        add((std::uint64_t{item.sequence.value} << 32U) | item.keep);
        add((std::uint64_t{item.token} << 32U) | static_cast<std::uint32_t>(item.mode));
        (*this)("keys", item.keys);
      }
    }
  }
};

constexpr NameKind kind_of(model::SequenceName /*name*/) noexcept {
  return NameKind::kSequence;
}
constexpr NameKind kind_of(model::SnapshotName /*name*/) noexcept {
  return NameKind::kSnapshot;
}
constexpr NameKind kind_of(model::EntryName /*name*/) noexcept {
  return NameKind::kEntry;
}

bool is_token(char const* field) {
  return std::strcmp(field, "token") == 0;
}

/// Gives an operation the tokens from `next` on: as many as the field that counts its rows says.
struct TokenNumberer {
  model::Token next;
  model::Token* token = nullptr;
  std::uint32_t count = 0;

  template <typename T>
  void operator()(char const* name, T& value, T const& /*fallback*/) {
    (*this)(name, value);
  }
  template <typename T>
  void operator()(char const* /*name*/, T& /*value*/) {}
  void operator()(char const* name, std::uint32_t& value) {
    if (is_token(name)) {
      token = &value;
    } else if (std::strcmp(name, "rows") == 0 || std::strcmp(name, "rest") == 0) {
      count = value;
    }
  }
  void operator()(char const* /*name*/, StepParts& items) {
    for (std::uint32_t i = 0; i < items.count; ++i) {
      if (items.parts[i].deed != StepDeed::kPad) {
        items.parts[i].token = next;
        next += items.parts[i].rows;
      }
    }
  }
  void end() {
    if (token != nullptr) {
      *token = next;
      next += count;
    }
  }
};

/// Smaller numbers, smallest first; `choice` counts them. Nothing when there is none left.
std::optional<std::uint32_t> smaller(std::uint32_t value, std::uint32_t choice) {
  std::array<std::uint32_t, 4> const all = {0, 1, value / 2, value - 1};
  std::uint32_t last = UINT32_MAX;
  for (std::uint32_t const number : all) {
    bool const is_new = last == UINT32_MAX || number > last;
    if (value == 0 || number >= value) {
      break;
    }
    if (is_new) {
      last = number;
      if (choice-- == 0) {
        return number;
      }
    }
  }
  return std::nullopt;
}

/// Makes one field simpler in one way. Fields and their ways are counted: what is not there any more
/// leaves `applied` false.
struct FieldEdit {
  std::uint32_t field;
  std::uint32_t choice;
  bool with_equals = false;  // other numbers of the same value follow
  std::uint32_t at = 0;      // field that comes next
  bool applied = false;
  bool is_past_end = true;  // there is no such field
  std::uint32_t from = 0;   // what was changed
  std::uint32_t to = 0;

  [[nodiscard]] bool is_mine() {
    bool const mine = at++ == field;
    is_past_end = is_past_end && !mine;
    return mine;
  }
  void number(std::uint32_t& value, std::uint32_t way) {
    if (auto const less = smaller(value, way)) {
      from = value;
      value = to = *less;
      applied = true;
    }
  }

  /// As usual in one respect more.
  void operator()(char const* /*name*/, model::WritePlan& value, model::WritePlan const& fallback) {
    if (!is_mine() || value.is_plain()) {
      return;
    }
    model::WritePlan const ways[] = {
        fallback,
        {value.liberty, model::Mistake::kNone, value.part, value.via, value.reversed},
        {model::Liberty::kNone, value.mistake, value.part, value.via, value.reversed},
        {value.liberty, value.mistake, value.part, fallback.via, value.reversed},
        {value.liberty, value.mistake, value.part, value.via, false},
        {value.liberty, value.mistake, 0, value.via, value.reversed},
        {value.liberty, value.mistake, value.part / 2, value.via, value.reversed},
        {value.liberty,
         value.mistake,
         value.part - (value.part != 0 ? 1 : 0),
         value.via,
         value.reversed}};
    std::uint32_t left = choice;
    for (model::WritePlan const& way : ways) {
      if (!(way == value) && left-- == 0) {
        value = way;
        applied = true;
        return;
      }
    }
  }
  /// The tokens' own keys, one key, small ones.
  void operator()(char const* /*name*/, model::KeyRule& value, model::KeyRule const& fallback) {
    if (!is_mine() || value.is_own()) {
      return;
    }
    model::KeyRule const ways[] = {fallback,
                                   {.key = 0, .period = 1},
                                   {.key = value.key, .period = 1},
                                   {.key = 0, .period = value.period, .step = value.step},
                                   {.key = value.key, .period = value.period, .step = 1}};
    std::uint32_t left = choice;
    for (model::KeyRule const& way : ways) {
      if (!(way == value) && left-- == 0) {
        value = way;
        applied = true;
        return;
      }
    }
  }
  template <typename T>
  void operator()(char const* /*name*/, T& value, T const& fallback) {
    if (!is_mine() || value == fallback) {
      return;  // at its default nothing is simpler
    }
    if (choice == 0) {
      value = fallback;
      applied = true;
    } else if constexpr (std::is_same_v<T, std::uint32_t>) {
      number(value, choice - 1);
    }
  }
  template <typename T>
  void operator()(char const* /*name*/, T& value) {
    if (is_mine() && choice == 0 && !(value == T{})) {
      value = T{};
      applied = true;
    }
  }
  void operator()(char const* name, std::uint32_t& value) {
    if (!is_token(name) && is_mine()) {
      number(value, choice);
    }
  }
  void operator()(char const* /*name*/, model::SequenceName& /*name*/) {}
  void operator()(char const* /*name*/, model::SnapshotName& /*name*/) {}
  void operator()(char const* /*name*/, model::EntryName& /*name*/) {}
  void operator()(char const* /*name*/, StepParts& items) {
    for (std::uint32_t i = 0; i < items.count; ++i) {
      if (is_mine() && choice == 0 && items.count > 1) {
        std::copy(items.parts + i + 1, items.parts + items.count, items.parts + i);
        --items.count;
        applied = true;
        return;
      }
      part(items.parts[i]);
    }
  }
  void part(StepPart& item) {
    std::uint32_t const keep = item.keep;
    std::uint32_t const rows = item.rows;
    if (is_mine()) {
      number(item.rows, choice);
      item.keep = keep == rows ? item.rows : std::min(keep, item.rows);
    }
    if (is_mine()) {
      number(item.keep, choice);
    }
    if (is_mine() && choice == 0 && item.mode != model::StateMode::kFresh) {
      item.mode = model::StateMode::kFresh;
      applied = true;
    }
    (*this)("keys", item.keys, model::KeyRule{});
  }
};

/// Makes the numbers that equal a changed one follow it.
struct EqualsFollow {
  std::uint32_t from;
  std::uint32_t to;
  bool changed = false;

  template <typename T>
  void operator()(char const* name, T& value, T const& /*fallback*/) {
    (*this)(name, value);
  }
  template <typename T>
  void operator()(char const* /*name*/, T& /*value*/) {}
  void operator()(char const* name, std::uint32_t& value) {
    if (!is_token(name) && value == from) {
      value = to;
      changed = true;
    }
  }
};

/// Multiplies the rows of an operation on one sequence.
struct RowsGrower {
  std::uint32_t factor;
  bool grew = false;

  template <typename T>
  void operator()(char const* name, T& value, T const& /*fallback*/) {
    (*this)(name, value);
  }
  template <typename T>
  void operator()(char const* /*name*/, T& /*value*/) {}
  void operator()(char const* name, std::uint32_t& value) {
    if (std::strcmp(name, "rows") == 0) {
      value = factor * std::max(value, 1U);
      grew = true;
    }
  }
};

template <std::uint32_t I>
AnyOp make_kind() {
  return AnyOp{std::in_place_index<I>};
}

template <std::uint32_t... I>
constexpr std::array<AnyOp (*)(), model::AllOps::kCount> make_plain_ops(
    std::integer_sequence<std::uint32_t, I...> /*indices*/) {
  return {&make_kind<I>...};
}

constexpr auto kMakers =
    make_plain_ops(std::make_integer_sequence<std::uint32_t, model::AllOps::kCount>{});

}  // namespace

std::uint64_t digest_of(AnyOp const& op) {
  FieldDigest digest{op.index()};
  std::visit([&](auto known) { known.fields(digest); }, op);
  return digest.value;
}

AnyOp plain_op(std::uint32_t kind) {
  return kMakers[kind]();
}

std::vector<NameUse> names_in(AnyOp const& op) {
  std::vector<NameUse> names;
  AnyOp copy = op;
  model::for_each_name(copy, [&](auto const& name) {
    NameUse const use{kind_of(name), name.value};
    if (std::find(names.begin(), names.end(), use) == names.end()) {
      names.push_back(use);
    }
  });
  return names;
}

void rename(AnyOp& op, std::function<std::uint32_t(NameUse)> const& value_of) {
  model::for_each_name(op, [&](auto& name) { name.value = value_of({kind_of(name), name.value}); });
}

void number_names(std::vector<AnyOp>& ops) {
  std::map<NameUse, std::uint32_t> numbers;
  std::map<NameKind, std::uint32_t> next;
  for (AnyOp& op : ops) {
    rename(op, [&](NameUse use) {
      auto const known = numbers.find(use);
      return known != numbers.end() ? known->second : numbers[use] = next[use.kind]++;
    });
  }
}

void number_tokens(std::vector<AnyOp>& ops) {
  model::Token next = 1;
  for (AnyOp& op : ops) {
    TokenNumberer numberer{.next = next};
    visit_fields(op, numberer);
    numberer.end();
    next = numberer.next;
  }
}

bool grow(AnyOp& op, std::uint32_t factor) {
  model::Effects const effects = model::effects_of(op);
  if (!effects.opens() || !effects.makes.has(model::Thing::kRows)) {
    return false;
  }
  RowsGrower grower{factor};
  visit_fields(op, grower);
  return grower.grew;
}

std::vector<AnyOp> simpler_forms(AnyOp const& op) {
  std::vector<AnyOp> forms;
  for (std::uint32_t field = 0;; ++field) {
    for (std::uint32_t choice = 0;; ++choice) {
      AnyOp form = op;
      FieldEdit edit{.field = field, .choice = choice};
      visit_fields(form, edit);
      if (edit.is_past_end) {
        return forms;
      }
      if (!edit.applied) {
        if (choice == 0) {
          continue;  // at its default already; it may still be smaller
        }
        break;
      }
      if (edit.from != edit.to) {
        AnyOp all = form;
        EqualsFollow follow{.from = edit.from, .to = edit.to};
        visit_fields(all, follow);
        if (follow.changed) {
          forms.push_back(all);
        }
      }
      forms.push_back(form);
    }
  }
}

}  // namespace holdfast::fuzz
