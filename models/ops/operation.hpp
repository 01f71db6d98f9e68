// SPDX-License-Identifier: Apache-2.0
// What an operation must have. All that the harness does with operations is generated from their one
// list by these members; a type that lacks one is no operation and does not compile.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "models/ops/pick.hpp"
#include "models/ops/small_scope.hpp"
#include "models/ops/traits.hpp"
#include "models/system.hpp"

namespace holdfast::model {

// X(member, why it must be there): one line a member. The concept, its messages and the tests derive
// from this list.
#define HOLDFAST_OPERATION_MEMBERS(X)                                                      \
  X(kName, "is its word in traces")                                                        \
  X(kMeaning, "says in words what it does")                                                \
  X(kEffects, "says what it makes, ends, changes, uses and loads")                         \
  X(kWeight, "says how often programs have it")                                            \
  X(precondition, "says whether it makes sense, by the model alone")                       \
  X(apply, "does it to the model, and says what the system must answer")                   \
  X(run, "does it to the system")                                                          \
  X(generate, "draws one")                                                                 \
  X(fields, "visits its fields, for texts, bytes, names and the minimizer")                \
  X(rows, "counts the rows that it writes")                                                \
  X(openings, "visits the handles that it opens; what opens none has none")                \
  X(leaver, "names the sequence that leaves its step; what nobody leaves has none")        \
  X(choices, "lists what the exhaustive search tries; its body is empty if it tries none") \
  X(plainer, "says how a program does it more plainly; its body is empty if there is no way")

/// Takes any field; stands for the visitors of `fields`.
struct AnyField {
  template <typename... Field>
  void operator()(char const* name, Field&... field) const;
};
/// Takes any handle; stands for the visitors of `openings`.
struct AnyOpening {
  void operator()(OpenedHandle const& opened) const;
};
/// Takes any operation; stands for what `choices` is given.
struct AnyAdd {
  template <typename Op>
  void operator()(Op const& op) const;
};
/// Stands for what `plainer` is given, which fuzz/plainer.hpp describes.
struct AnyWays {};

template <typename Op>
concept has_kName = requires {
  { Op::kName } -> std::convertible_to<char const*>;
};
template <typename Op>
concept has_kMeaning = requires {
  { Op::kMeaning } -> std::convertible_to<char const*>;
};
template <typename Op>
concept has_kEffects = requires {
  { Op::kEffects } -> std::same_as<Effects const&>;
};
template <typename Op>
concept has_kWeight = requires {
  { Op::kWeight } -> std::same_as<Weight const&>;
};
template <typename Op>
concept has_precondition = requires(Op const op, Model const& known) {
  { op.precondition(known) } -> std::same_as<bool>;
};
template <typename Op>
concept has_apply = requires(Op const op, Model& model, Observation const& got) {
  { op.apply(model, got) } -> std::same_as<Observation>;
};
template <typename Op>
concept has_run = requires(Op const op, System& system) {
  { op.run(system) } -> std::same_as<Observation>;
};
template <typename Op>
concept has_generate = requires(GenerateContext const& context) {
  { Op::generate(context) } -> std::same_as<std::optional<Op>>;
};
template <typename Op>
concept has_fields = requires(Op op, AnyField const& visit) {
  op.fields(visit);
};
template <typename Op>
concept has_rows = requires(Op const op) {
  { op.rows() } -> std::same_as<std::uint32_t>;
};
template <typename Op>
concept visits_openings = requires(Op const op, AnyOpening const& visit) {
  op.openings(visit);
};
template <typename Op>
concept names_leaver = requires(Op const op) {
  { op.leaver() } -> std::same_as<SequenceName>;
};
template <typename Op>
concept has_choices = requires(SmallScope const& scope, AnyAdd const& add) {
  Op::choices(scope, add);
};
template <typename Op>
concept has_plainer = requires(Op const op, AnyWays& ways) {
  op.plainer(ways);
};

/// What only some have, as their effects say.
template <typename Op>
concept has_openings = !has_kEffects<Op> || visits_openings<Op> == Op::kEffects.opens();
template <typename Op>
concept has_leaver = !has_kEffects<Op> || names_leaver<Op> == Op::kEffects.leaves();

/// An operation: a type with every member of the list.
template <typename Op>
concept Operation =
#define HOLDFAST_OPERATION_HAS(member, why) has_##member<Op>&&
    HOLDFAST_OPERATION_MEMBERS(HOLDFAST_OPERATION_HAS)
#undef HOLDFAST_OPERATION_HAS
true;

/// Stops the compilation with one message for each member that Op lacks; names operation and member.
template <typename Op>
constexpr bool require_operation() noexcept {
#define HOLDFAST_OPERATION_REQUIRE(member, why) \
  static_assert(has_##member<Op>, "this operation lacks the member '" #member "', which " why);
  HOLDFAST_OPERATION_MEMBERS(HOLDFAST_OPERATION_REQUIRE)
#undef HOLDFAST_OPERATION_REQUIRE
  return Operation<Op>;
}

}  // namespace holdfast::model
