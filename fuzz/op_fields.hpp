// SPDX-License-Identifier: Apache-2.0
// What a program's operations mention and how they can be made simpler, read from their field lists:
// a new operation needs nothing here.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <vector>

#include "models/ops/op_list.hpp"

namespace holdfast::fuzz {

/// An operation of the kind at this place in the list of operations, with its fields at their defaults.
[[nodiscard]] model::AnyOp plain_op(std::uint32_t kind);

/// A number that says which operation it is and what its fields are.
[[nodiscard]] std::uint64_t digest_of(model::AnyOp const& op);

/// Of what a name is.
enum class NameKind : std::uint8_t { kSequence, kSnapshot, kEntry };

/// A name as a program mentions it.
struct NameUse {
  NameKind kind = NameKind::kSequence;
  std::uint32_t value = 0;
  friend auto operator<=>(NameUse const&, NameUse const&) = default;
};

/// The names that an operation mentions, in the order of its fields, each once.
[[nodiscard]] std::vector<NameUse> names_in(model::AnyOp const& op);

/// Gives every name of the operation the value that `value_of` says.
void rename(model::AnyOp& op, std::function<std::uint32_t(NameUse)> const& value_of);

/// Numbers names by kind in the order in which a program mentions them first.
void number_names(std::vector<model::AnyOp>& ops);

/// Numbers tokens in the order of the operations, from 1 on, each once.
void number_tokens(std::vector<model::AnyOp>& ops);

/// Lets an operation that opens rows and keeps them at once have so many times as many. False for
/// others.
[[nodiscard]] bool grow(model::AnyOp& op, std::uint32_t factor);

/// The operation with one field made simpler, simplest first: a number at its default, 0, 1, half or
/// one less, alone or together with the numbers that equal it; a choice at its default; an item of a
/// step gone. Names and tokens stay.
[[nodiscard]] std::vector<model::AnyOp> simpler_forms(model::AnyOp const& op);

}  // namespace holdfast::fuzz
