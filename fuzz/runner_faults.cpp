// SPDX-License-Identifier: Apache-2.0
// Operations in which device calls fail. The library says whether a sequence is as it was or
// tainted, and the model takes that over; that it is true is for the invariants.
#include <algorithm>

#include "fuzz/runner.hpp"
#include "models/ops/names.hpp"

namespace holdfast::fuzz {

using invariant::Check;
using model::AnyOp;
using model::SequenceName;
using model::Thing;

/// Puts devices that fail calls between the library, the engine and their devices. Not when there
/// is a shadow, which would have to fail at the same calls.
void Runner::add_faults(std::vector<Device*>& engine_devices) {
  for (std::uint32_t i = 0; i < devices_.size() && !shadow_; ++i) {
    auto const add = [&](Device& device) -> Device* {
      auto const stall = [this, i](Stream stream) {
        if (!sim_devices_.empty()) {
          sim_devices_[i]->stall(stream);
        }
      };
      fault_devices_.push_back(std::make_unique<model::FaultDevice>(device, faults_, i, stall));
      return fault_devices_.back().get();
    };
    bool const is_shared = devices_[i] == engine_devices[i];
    devices_[i] = add(*devices_[i]);
    engine_devices[i] = is_shared ? devices_[i] : add(*engine_devices[i]);
  }
}

/// Counts what the library asks of simulated devices; the engine's calls go past it.
void Runner::add_costs() {
  for (std::uint32_t i = 0; i < devices_.size() && world_; ++i) {
    cost_devices_.push_back(std::make_unique<model::CostDevice>(*devices_[i], cost_));
    devices_[i] = cost_devices_.back().get();
  }
}

/// The program's own faults and delays reach the devices.
void Runner::disturb() {
  internals_->fail_with(faults_);
  internals_->delay_with([this](Stream stream, std::uint32_t device) {
    if (!sim_devices_.empty()) {
      sim_devices_[device]->stall(stream);
    }
  });
}

model::Observation Runner::run_op(AnyOp const& op, Check& check, ProgramResult& result) {
  model::Observation shadow_answer;
  std::visit(
      [&](auto const& known) {
        if (internals_ != nullptr) {
          internals_->clear_given_up();
        }
        faults_.arm();
        cost_ = {.steps_before = world_ ? cost_devices_.front()->steps() : 0};
        check.got = known.run(*system_);
        spent_ = cost_;
        check.cost = world_ && internals_ != nullptr ? &spent_ : nullptr;
        faults_.disarm();
        shadow_answer = shadow_ ? shadow_->run(op) : check.got;
        check.failed_calls = faults_.failed();
        if (check.failed_calls != 0) {
          adopt_failure(op, check);
        }
        if (check.failed_calls != 0 && check.got.is(ErrorCode::kDeviceFailed)) {
          check.want = check.got;
          model_.skip_tokens(known.rows());
        } else {
          check.want = known.apply(model_, check.got);
        }
        result.counts.rows += check.got.ok ? known.rows() : 0;
      },
      op);
  if (check.failed_calls != 0 && !world_) {
    model_.settle();  // who asks again is told
  }
  return shadow_answer;
}

void Runner::adopt_failure(AnyOp const& op, Check& check) {
  model_.doubt_entries();
  if (!check.got.is(ErrorCode::kDeviceFailed)) {
    return;
  }
  for (std::uint32_t i = 0; i < subject_count_; ++i) {
    adopt_failed_subject(subjects_[i], check);
  }
  model::Effects const effects = model::effects_of(op);
  if (effects.opens()) {
    model_.forget_map();
  } else if (effects.all().has(Thing::kStep)) {
    model_.forget_step(model::names_of(op).all_sequences[0]);
  }
  // An entry that an operation ends and makes again was gone when a call of the second half failed.
  std::optional<model::EntryName> const entry = model::names_of(op).entry;
  if (effects.ends.has(Thing::kEntry) && effects.makes.has(Thing::kEntry) && entry &&
      model_.entry(*entry).live && !internals_->has_entry(*entry)) {
    static_cast<void>(model_.erase(*entry));
    check.left_unknown = true;
  }
}

/// Takes over that an operation left a sequence tainted. Which state it has follows from the operation;
/// only of one that keeps rows the library must say whether it came so far.
void Runner::adopt_taint(Subject const& subject, Check& check) {
  SequenceName const name = subject.name;
  check.left_unknown = check.left_unknown || !model_.sequence(name).tainted;
  model::Effects const effects = model::effects_of(*check.op);
  if (effects.loads.has(Thing::kSnapshot)) {
    model_.taint_loaded(name, *check.snapshot);
    return;
  }
  bool const has_own = has_state(subject, check);
  if (!has_own && !effects.makes.has(Thing::kRows)) {
    report_.add({.id = "FAIL",
                 .position = model_.position(name),
                 .holder = invariant::name_of(name),
                 .text = "a device call failed, and it has another state though no row was kept"});
  }
  model_.taint(name, has_own);
}

/// Whether a sequence still holds the state slots that it had before the operation.
bool Runner::has_state(Subject const& subject, Check const& check) const {
  Holder const holder{HolderKind::kSequence, internals_->id(subject.name).index};
  return subject.before.live &&
         std::all_of(planes_.begin(), planes_.end(), [&](invariant::PlaneBinding const& plane) {
           return plane.reference != nullptr || check.inspection.state(holder, plane.index).slot ==
                                                    subject.before.planes[plane.index].slot;
         });
}

/// What an engine does: what its operation gave up on is released; what is tainted stays until
/// somebody releases it.
void Runner::adopt_failed_subject(Subject const& subject, Check& check) {
  SequenceName const name = subject.name;
  if (!model_.sequence(name).live) {
    return;
  }
  auto const info = [&] { return check.inspection.sequence(internals_->id(name).index); };
  if (HandleId const id = internals_->id(name);
      !info().live || info().generation != id.generation) {
    static_cast<void>(model_.release(name));  // it had left before the call that failed
    check.left_unknown = true;
    return;
  }
  if (info().open && !subject.before.sequence.open && !info().tainted) {
    internals_->let_go(name);  // an append whose commit could not begin
  }
  auto const given_up = internals_->given_up();
  bool const is_given_up = std::find(given_up.begin(), given_up.end(), name) != given_up.end();
  SequenceInfo const now = info();
  if (now.tainted) {
    adopt_taint(subject, check);
  } else if (is_given_up) {
    // The engine knows which rows were committed, in an operation of several calls too.
    if (now.open || now.position != internals_->rows_of(name)) {
      report_.add({.id = "FAIL",
                   .position = model_.position(name),
                   .holder = invariant::name_of(name),
                   .text = "a device call failed and the handle was dropped, but it is at " +
                           std::to_string(now.position) + (now.open ? " and open" : "")});
    }
    check.left_unknown = true;
    static_cast<void>(system_->release(name, model::HandleEnd::kCalled));
    static_cast<void>(model_.release(name));
  }
}

}  // namespace holdfast::fuzz
