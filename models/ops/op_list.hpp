// SPDX-License-Identifier: Apache-2.0
// The list of operations: one line an operation. Texts, generator and statistics are derived from
// it, and so is the byte form of programs, in which an operation is its place in the list: what is
// new comes last.
#pragma once

#include <array>
#include <concepts>
#include <variant>

#include "models/ops/accept.hpp"
#include "models/ops/append.hpp"
#include "models/ops/begin.hpp"
#include "models/ops/can_truncate.hpp"
#include "models/ops/cancel.hpp"
#include "models/ops/capture.hpp"
#include "models/ops/close.hpp"
#include "models/ops/commit.hpp"
#include "models/ops/create.hpp"
#include "models/ops/delay.hpp"
#include "models/ops/drop.hpp"
#include "models/ops/drop_snapshot.hpp"
#include "models/ops/erase.hpp"
#include "models/ops/fault.hpp"
#include "models/ops/fork.hpp"
#include "models/ops/leave.hpp"
#include "models/ops/load_damaged.hpp"
#include "models/ops/release.hpp"
#include "models/ops/reload.hpp"
#include "models/ops/restore.hpp"
#include "models/ops/rewrite.hpp"
#include "models/ops/rollback.hpp"
#include "models/ops/snapshot.hpp"
#include "models/ops/step.hpp"
#include "models/ops/sync.hpp"
#include "models/ops/truncate.hpp"
#include "models/ops/use_stream.hpp"
#include "models/ops/verify.hpp"

namespace holdfast::model {

/// What an operation must have; `apply` and `precondition` see the model alone.
template <typename Op>
concept Operation = requires(Op op,
                             Model& model,
                             Model const& known,
                             System& system,
                             GenerateContext const& context,
                             Observation const& got) {
  { Op::kName } -> std::convertible_to<char const*>;
  { op.precondition(known) } -> std::same_as<bool>;
  { op.apply(model, got) } -> std::same_as<Observation>;
  { op.run(system) } -> std::same_as<Observation>;
  { Op::generate(context) } -> std::same_as<std::optional<Op>>;
  { op.rows() } -> std::same_as<std::uint32_t>;
};

template <Operation... Ops>
struct OpTypes {
  using Any = std::variant<Ops...>;
  static constexpr std::uint32_t kCount = sizeof...(Ops);
  static constexpr std::array<char const*, kCount> kNames = {Ops::kName...};
};

using AllOps = OpTypes<CreateOp,
                       AppendOp,
                       BeginOp,
                       CommitOp,
                       DropOp,
                       VerifyOp,
                       RewriteOp,
                       AcceptOp,
                       SnapshotOp,
                       DropSnapshotOp,
                       RollbackOp,
                       ForkOp,
                       TruncateOp,
                       CanTruncateOp,
                       ReleaseOp,
                       CloseOp,
                       StepOp,
                       CaptureOp,
                       RestoreOp,
                       EraseOp,
                       ReloadOp,
                       LoadDamagedOp,
                       UseStreamOp,
                       SyncOp,
                       FaultOp,
                       HealOp,
                       CancelOp,
                       LeaveOp,
                       DelayOp>;

/// One operation of a program.
using AnyOp = AllOps::Any;

/// The items of an operation that begins a step; nullptr for others.
[[nodiscard]] inline StepParts const* step_items(AnyOp const& op) noexcept {
  return std::visit(
      [](auto const& known) -> StepParts const* {
        if constexpr (requires { known.items; }) {
          return &known.items;
        } else {
          return nullptr;
        }
      },
      op);
}

/// Index of a kind of operation, as AnyOp::index() has it.
template <typename Op>
[[nodiscard]] constexpr std::uint32_t index_of() noexcept {
  return static_cast<std::uint32_t>(AnyOp{std::in_place_type<Op>}.index());
}

/// Name of an operation's kind.
[[nodiscard]] inline char const* name_of(AnyOp const& op) noexcept {
  return AllOps::kNames[op.index()];
}

}  // namespace holdfast::model
