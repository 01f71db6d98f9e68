// SPDX-License-Identifier: Apache-2.0
// The ways to change a program.
#include "fuzz/mutator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "fuzz/codec.hpp"
#include "fuzz/op_fields.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::Model;
using model::ModelShape;
using model::Source;

using Ops = std::vector<AnyOp>;

/// A place in [0, size), later ones more often: what a program has built up is at its end.
std::size_t pick_at(Source& source, std::size_t size) {
  auto const count = static_cast<std::uint32_t>(size);
  return source.one_in(2) ? source.below(count)
                          : std::max(source.below(count), source.below(count));
}

/// A slice of one to `most` operations.
struct Slice {
  std::size_t first = 0;
  std::size_t count = 0;
};
Slice pick_slice(Source& source, std::size_t size, std::uint32_t most) {
  std::size_t const first = source.below(static_cast<std::uint32_t>(size));
  auto const left = static_cast<std::uint32_t>(size - first);
  return {first, source.between(1, std::min(left, most))};
}

template <typename T>
auto at(std::vector<T>& items, std::size_t index) {
  return items.begin() + static_cast<std::ptrdiff_t>(index);
}
template <typename T>
auto at(std::vector<T> const& items, std::size_t index) {
  return items.begin() + static_cast<std::ptrdiff_t>(index);
}

/// One more than the largest name of each kind.
std::map<NameKind, std::uint32_t> names_used(Ops const& ops) {
  std::map<NameKind, std::uint32_t> used;
  for (AnyOp const& op : ops) {
    for (NameUse const& use : names_in(op)) {
      used[use.kind] = std::max(used[use.kind], use.value + 1);
    }
  }
  return used;
}

/// Gives what a slice of `whole` mentions first names that `ops` does not have; the rest keeps its
/// name, or gets one of `ops` when it comes from another program.
Ops renamed_slice(Ops const& whole, Slice slice, Ops const& ops, bool foreign, Source& source) {
  auto next = names_used(ops);
  auto const known = next;
  std::map<NameUse, std::uint32_t> names;
  for (std::size_t i = 0; i < slice.first; ++i) {
    for (NameUse const& use : names_in(whole[i])) {
      std::uint32_t const count = known.count(use.kind) != 0 ? known.at(use.kind) : 0;
      names[use] = foreign && count != 0 ? source.below(count) : use.value;
    }
  }
  Ops part(at(whole, slice.first), at(whole, slice.first + slice.count));
  for (AnyOp& op : part) {
    rename(op, [&](NameUse use) {
      auto const [place, is_new] = names.emplace(use, 0);
      if (is_new) {
        place->second = next[use.kind]++ % model::kNameLimit;
      }
      return place->second;
    });
  }
  return part;
}

/// Finds fields of one sort, counts them, and calls `change` for the chosen one.
template <typename Change>
struct NumberPicker {
  Change change;
  std::uint32_t chosen;  // UINT32_MAX: only count
  std::uint32_t count = 0;

  template <typename T>
  void operator()(char const* name, T& value, T const& /*fallback*/) {
    (*this)(name, value);
  }
  template <typename T>
  void operator()(char const* /*name*/, T& /*value*/) {}  // no number
  void operator()(char const* name, std::uint32_t& value) {
    if (std::strcmp(name, "token") != 0 && count++ == chosen) {
      change(name, value);
    }
  }
  void operator()(char const* /*name*/, model::StepParts& items) {
    for (std::uint32_t i = 0; i < items.count; ++i) {
      (*this)("rows", items.parts[i].rows);
      (*this)("keep", items.parts[i].keep);
    }
  }
};

/// Changes a field that is a choice, or an item of a step; one of those that there are.
struct ChoiceChanger {
  Source& source;

  template <typename T>
  void operator()(char const* name, T& value, T const& /*fallback*/) {
    (*this)(name, value);
  }
  template <typename T>
  void operator()(char const* /*name*/, T& /*value*/) {}  // no choice
  void operator()(char const* /*name*/, model::StateMode& mode) {
    mode = static_cast<model::StateMode>(source.below(model::kStateModeCount));
  }
  void operator()(char const* /*name*/, model::Damage& damage) {
    damage = static_cast<model::Damage>(source.below(model::kDamageCount));
  }
  void operator()(char const* /*name*/, model::WritePlan& plan) {
    plan = model::any_plan(source, true);
  }
  void operator()(char const* /*name*/, model::KeyRule& keys) {
    keys = source.one_in(4) ? model::KeyRule{} : model::key_rule(0, source.below(model::kKeyRules));
  }
  void operator()(char const* /*name*/, model::FaultKind& kind) {
    kind = static_cast<model::FaultKind>(source.below(model::kFaultKindCount));
  }
  void operator()(char const* name, std::uint32_t& value) {
    if (std::strcmp(name, "view") == 0) {
      value = source.below(2);
    } else if (std::strcmp(name, "piece") == 0) {
      value = model::pick_piece(source);
    }
  }
  void operator()(char const* /*name*/, model::StepParts& items) {
    std::uint32_t const i = source.below(items.count);
    std::uint32_t const j = source.below(items.count);
    model::StepPart& part = items.parts[i];
    switch (source.below(6)) {
      case 0:
        std::swap(part, items.parts[j]);
        break;
      case 1:
        if (items.count < model::kStepItemLimit) {
          items.parts[items.count++] = part;
        }
        break;
      case 2:
        if (items.count > 1) {
          part = items.parts[--items.count];
        }
        break;
      case 3:
        part.deed = static_cast<model::StepDeed>(source.below(model::kStepDeedCount));
        break;
      case 4:
        (*this)("keys", part.keys);
        break;
      default:
        part.mode = static_cast<model::StateMode>(source.below(model::kStateModeCount));
    }
    if (part.deed == model::StepDeed::kPad) {
      part = {.deed = part.deed, .rows = part.rows};
    }
    part.keep = std::min(part.keep, part.rows);
  }
};

/// A number beside an edge of the geometry; `from` is where rows are counted from.
std::uint32_t boundary(ModelShape const& shape, std::uint32_t from, Source& source) {
  bool const has_window = !shape.windows.empty();
  std::array<std::uint32_t, 5> const units = {
      shape.page_rows,
      has_window ? shape.windows.front().plane.window_rows : 1,
      has_window ? shape.windows.front().plane.kept_rows : 1,
      std::max(1U, shape.capacity.largest_round),
      shape.capacity.tokens};
  std::uint32_t const unit = units[source.below(static_cast<std::uint32_t>(units.size()))];
  std::uint32_t const target = (from / unit + source.below(3)) * unit + source.below(3);
  return target > from ? target - 1 - from : source.below(3);
}

/// Weights of a random part of all operations: what is absent cannot undo what is present.
model::OperationMix random_mix(Source& source, model::OperationMix const& usual) {
  model::OperationMix mix{.mean_rows = usual.mean_rows};
  if (source.one_in(2)) {
    return usual;
  }
  if (source.one_in(2)) {
    mix.mean_rows = 1U << source.below(5);
  }
  for (char const* name : model::AllOps::kNames) {
    mix.weights.emplace_back(name, source.one_in(2) ? source.between(1, 100) : 0);
  }
  mix.weights[first_op().index()].second = 1;
  return mix;
}

bool can_run(AnyOp const& op, Model const& model) {
  return std::visit([&](auto const& known) { return known.precondition(model); }, op);
}

void apply(AnyOp const& op, Model& model) {
  std::visit([&](auto const& known) { static_cast<void>(known.apply(model, {})); }, op);
}

}  // namespace

ProgramMutator::ProgramMutator(GeometryShelf& shelf,
                               std::vector<std::string> references,
                               std::vector<std::string> variants,
                               ChangeBytes change)
    : shelf_{shelf},
      references_{std::move(references)},
      variants_{std::move(variants)},
      change_bytes_{std::move(change)} {}

void ProgramMutator::mutate(model::Trace& program, std::uint64_t seed) {
  Source source{seed};
  if (shelf_.find(program.geometry) == nullptr) {
    choose_geometry(program, source);
  }
  for (std::uint32_t changes = source.between(1, 3); changes != 0; --changes) {
    change_once(program, source);
  }
  if (!source.one_in(16)) {
    number_tokens(program.ops);  // equal rows would hide whose they are
  }
}

void ProgramMutator::choose_geometry(model::Trace& program, Source& source) {
  auto const& some = !variants_.empty() && source.one_in(2) ? variants_ : references_;
  program.geometry = some[source.below(static_cast<std::uint32_t>(some.size()))];
}

Model& ProgramMutator::model_at(model::Trace const& program, std::size_t at) {
  Model& model = shelf_.find(program.geometry)->model;
  model.reset();
  for (std::size_t i = 0; i < at; ++i) {
    if (can_run(program.ops[i], model)) {
      apply(program.ops[i], model);
    }
  }
  return model;
}

void ProgramMutator::grow(model::Trace& program,
                          std::size_t place,
                          std::uint32_t count,
                          Source& source) {
  Model& model = model_at(program, place);
  Generator const generator{random_mix(source, shelf_.find(program.geometry)->geometry.mix)};
  // What comes later keeps its names.
  auto const used = names_used(program.ops);
  Ops made;
  for (std::uint32_t i = 0; i < count; ++i) {
    AnyOp const op = generator.next(source, model);
    if (!can_run(op, model)) {
      break;  // every name is taken
    }
    apply(op, model);
    made.push_back(op);
  }
  if (place != program.ops.size()) {
    std::map<NameUse, std::uint32_t> names;
    for (std::size_t i = 0; i < place; ++i) {
      for (NameUse const& use : names_in(program.ops[i])) {
        names[use] = use.value;
      }
    }
    auto next = used;
    for (AnyOp& op : made) {
      rename(op, [&](NameUse use) {
        auto const [known, is_new] = names.emplace(use, 0);
        if (is_new) {
          known->second = next[use.kind]++ % model::kNameLimit;
        }
        return known->second;
      });
    }
  }
  program.ops.insert(at(program.ops, place), made.begin(), made.end());
}

void ProgramMutator::change_number(model::Trace& program, std::size_t place, Source& source) {
  auto const ignore = [](char const*, std::uint32_t&) {};
  NumberPicker<decltype(ignore)> counter{ignore, UINT32_MAX};
  std::visit([&](auto& known) { known.fields(counter); }, program.ops[place]);
  if (counter.count == 0) {
    return;
  }
  Model const& model = model_at(program, source.one_in(2) ? place : 0);
  std::uint32_t from = 0;
  for (NameUse const& use : names_in(program.ops[place])) {
    if (use.kind == NameKind::kSequence && model.sequence({use.value}).live) {
      from = model.position({use.value});
      break;
    }
  }
  auto const change = [&](char const* name, std::uint32_t& value) {
    if (change_bytes_ && std::strcmp(name, "at") == 0) {
      std::array<std::uint8_t, 2> bytes = {static_cast<std::uint8_t>(value),
                                           static_cast<std::uint8_t>(value >> 8U)};
      change_bytes_(bytes);
      value = bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8U;
      return;
    }
    switch (source.below(4)) {
      case 0:
        value = value == 0 ? 1 : value - 1;
        break;
      case 1:
        value = value + 1;
        break;
      default:
        // A length is counted from the start, rows from the position.
        value = boundary(model.shape(), std::strcmp(name, "length") == 0 ? 0 : from, source);
    }
    value = std::min(value, kNumberLimit);
  };
  NumberPicker<decltype(change)> picker{change, source.below(counter.count)};
  std::visit([&](auto& known) { known.fields(picker); }, program.ops[place]);
}

void ProgramMutator::change_once(model::Trace& program, Source& source) {
  Ops& ops = program.ops;
  std::size_t const size = ops.size();
  if (size == 0) {
    grow(program, 0, 1U << source.between(2, 5), source);
    return;
  }
  switch (source.below(20)) {
    case 0:
      choose_geometry(program, source);
      break;
    case 1:
    case 2: {
      Slice const slice = pick_slice(source, size, source.one_in(4) ? 32 : 4);
      ops.erase(at(ops, slice.first), at(ops, slice.first + slice.count));
      break;
    }
    case 3:
    case 4: {
      Slice const slice = pick_slice(source, size, 8);
      Ops const part = renamed_slice(ops, slice, ops, false, source);
      std::size_t const to =
          slice.first + slice.count +
          source.below(static_cast<std::uint32_t>(size - slice.first - slice.count + 1));
      ops.insert(at(ops, to), part.begin(), part.end());
      break;
    }
    case 5:
      std::swap(ops[pick_at(source, size)], ops[pick_at(source, size)]);
      break;
    case 6:
    case 7: {
      AnyOp& op = ops[pick_at(source, size)];
      auto const used = names_used(ops);
      rename(op, [&](NameUse use) { return source.below(used.at(use.kind)); });
      break;
    }
    case 8:
    case 9: {
      ChoiceChanger changer{source};
      std::visit([&](auto& known) { known.fields(changer); }, ops[pick_at(source, size)]);
      break;
    }
    case 10:
    case 11:
      ops.resize(pick_at(source, size) + 1);
      grow(program, ops.size(), source.between(1, 8), source);
      break;
    case 12:
    case 13:
    case 14:
      grow(program, pick_at(source, size), source.between(1, 3), source);
      break;
    case 15:
    case 16:
      grow(program, size, 1U << source.below(4), source);
      break;
    default:
      change_number(program, pick_at(source, size), source);
  }
}

model::Trace ProgramMutator::cross(model::Trace const& a,
                                   model::Trace const& b,
                                   std::uint64_t seed) {
  Source source{seed};
  model::Trace program{.geometry = a.geometry, .device = a.device, .ops = {}};
  if (a.ops.empty() || b.ops.empty()) {
    program.ops = a.ops.empty() ? b.ops : a.ops;
    return program;
  }
  program.ops.assign(a.ops.begin(), at(a.ops, pick_at(source, a.ops.size()) + 1));
  Slice const slice = pick_slice(source, b.ops.size(), 64);
  Ops const part = renamed_slice(b.ops, slice, program.ops, true, source);
  program.ops.insert(program.ops.end(), part.begin(), part.end());
  number_tokens(program.ops);
  return program;
}

}  // namespace holdfast::fuzz
