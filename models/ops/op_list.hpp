// SPDX-License-Identifier: Apache-2.0
// The list of operations: one line an operation. Texts, generator and statistics are derived from
// it, and so is the byte form of programs, in which an operation is its place in the list: what is
// new comes last.
#pragma once

#include <array>
#include <optional>
#include <variant>

#include "models/ops/accept.hpp"
#include "models/ops/append.hpp"
#include "models/ops/begin.hpp"
#include "models/ops/begin_step.hpp"
#include "models/ops/can_truncate.hpp"
#include "models/ops/cancel.hpp"
#include "models/ops/capture.hpp"
#include "models/ops/close.hpp"
#include "models/ops/commit.hpp"
#include "models/ops/create.hpp"
#include "models/ops/delay.hpp"
#include "models/ops/drop.hpp"
#include "models/ops/drop_snapshot.hpp"
#include "models/ops/drop_step.hpp"
#include "models/ops/erase.hpp"
#include "models/ops/fault.hpp"
#include "models/ops/fill.hpp"
#include "models/ops/finish_step.hpp"
#include "models/ops/fork.hpp"
#include "models/ops/leave.hpp"
#include "models/ops/load_damaged.hpp"
#include "models/ops/move.hpp"
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
#include "models/ops/write_step.hpp"

namespace holdfast::model {

template <typename... Ops>
struct OpTypes {
  static_assert((require_operation<Ops>() && ...));
  using Any = std::variant<Ops...>;
  static constexpr std::uint32_t kCount = sizeof...(Ops);
  static constexpr std::array<char const*, kCount> kNames = {Ops::kName...};
  static constexpr std::array<char const*, kCount> kMeanings = {Ops::kMeaning...};
  static constexpr std::array<Effects, kCount> kEffects = {Ops::kEffects...};
  static constexpr std::array<Weight, kCount> kWeights = {Ops::kWeight...};

  /// The first kind whose effects are such; kCount when there is none.
  template <typename Test>
  [[nodiscard]] static constexpr std::uint32_t first(Test is_such) noexcept {
    std::uint32_t kind = 0;
    while (kind < kCount && !is_such(kEffects[kind])) {
      ++kind;
    }
    return kind;
  }
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
                       DelayOp,
                       FillOp,
                       BeginStepOp,
                       WriteStepOp,
                       FinishStepOp,
                       DropStepOp,
                       MoveOp>;

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

/// Whether an operation writes all parts alike.
[[nodiscard]] inline bool writes_alike(AnyOp const& op) noexcept {
  return std::visit(
      [](auto const& known) {
        if constexpr (requires { known.plan.is_plain(); }) {
          return known.plan.is_plain();
        } else {
          return true;
        }
      },
      op);
}

/// Name of an operation's kind.
[[nodiscard]] inline char const* name_of(AnyOp const& op) noexcept {
  return AllOps::kNames[op.index()];
}

/// What an operation of this kind may do.
[[nodiscard]] inline Effects effects_of(AnyOp const& op) noexcept {
  return AllOps::kEffects[op.index()];
}

/// Calls `visit(opened)` for each handle that the operation opens.
template <typename Visit>
void for_each_opening(AnyOp const& op, Visit const& visit) {
  std::visit(
      [&](auto const& known) {
        if constexpr (requires { known.openings(visit); }) {
          known.openings(visit);
        }
      },
      op);
}

/// The sequence that leaves a step in the middle; nothing for others.
[[nodiscard]] inline std::optional<SequenceName> leaver_of(AnyOp const& op) noexcept {
  return std::visit(
      [](auto const& known) -> std::optional<SequenceName> {
        if constexpr (requires { known.leaver(); }) {
          return known.leaver();
        } else {
          return std::nullopt;
        }
      },
      op);
}

}  // namespace holdfast::model
