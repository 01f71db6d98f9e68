// SPDX-License-Identifier: Apache-2.0
// The names that an operation mentions, read from its field list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "models/ops/op_list.hpp"

namespace holdfast::model {

/// Calls `on_name(name)` for each field that is a name, and for the sequence of each item.
template <typename OnName>
struct NameVisitor {
  OnName on_name;

  template <typename T>
  void operator()(char const* name, T& value, T const& /*fallback*/) {
    (*this)(name, value);
  }
  template <typename T>
  void operator()(char const* /*name*/, T& /*value*/) {}  // names nobody
  void operator()(char const* /*name*/, SequenceName& name) { on_name(name); }
  void operator()(char const* /*name*/, SnapshotName& name) { on_name(name); }
  void operator()(char const* /*name*/, EntryName& name) { on_name(name); }
  void operator()(char const* /*name*/, StepParts& items) {
    for (std::uint32_t i = 0; i < items.count; ++i) {
      if (items.parts[i].deed != StepDeed::kPad) {
        on_name(items.parts[i].sequence);
      }
    }
  }
};

/// Calls `on_name(name)` for each name, in the order of the fields; it may be changed.
template <typename OnName>
void for_each_name(AnyOp& op, OnName on_name) {
  NameVisitor<OnName> visitor{std::move(on_name)};
  std::visit([&](auto& known) { known.fields(visitor); }, op);
}

/// What an operation is about.
struct OpNames {
  SequenceName all_sequences[kStepItemLimit];
  std::uint32_t count = 0;  // of them, each once
  std::optional<SnapshotName> snapshot;
  std::optional<EntryName> entry;

  [[nodiscard]] std::span<SequenceName const> sequences() const noexcept {
    return {all_sequences, count};
  }
  void add(SequenceName name) noexcept {
    SequenceName const* const end = all_sequences + count;
    if (std::find(all_sequences, all_sequences + count, name) == end) {
      all_sequences[count++] = name;
    }
  }
  void add(SnapshotName name) noexcept { snapshot = name; }
  void add(EntryName name) noexcept { entry = name; }
};

/// What it mentions.
[[nodiscard]] inline OpNames names_of(AnyOp op) noexcept {
  OpNames names;
  for_each_name(op, [&](auto const& name) { names.add(name); });
  return names;
}

/// The same, and of a step that it names every item that is still there.
[[nodiscard]] inline OpNames names_of(AnyOp const& op, Model const& model) noexcept {
  OpNames names = names_of(op);
  bool const names_step = !effects_of(op).makes.has(Thing::kStep) &&
                          effects_of(op).all().has(Thing::kStep) && names.count == 1;
  ModelStep const* const step = names_step ? model.step_of(names.all_sequences[0]) : nullptr;
  if (step == nullptr) {
    return names;
  }
  for (StepPart const& item : step->items) {
    if (item.deed != StepDeed::kPad && model.step_of(item.sequence) == step &&
        model.sequence(item.sequence).live) {
      names.add(item.sequence);
    }
  }
  return names;
}

}  // namespace holdfast::model
