// SPDX-License-Identifier: Apache-2.0
// The driver's loop.
#include "fuzz/runner.hpp"

#include <algorithm>
#include <mutex>

#include "fuzz/contract.hpp"
#include "fuzz/op_fields.hpp"
#include "models/ops/names.hpp"

namespace holdfast::fuzz {
namespace {

using invariant::Check;
using model::AnyOp;
using model::Observation;
using model::SequenceName;

/// Takes what can no longer be destroyed, and keeps it where leak checkers see that it is held.
void keep_for_ever(model::System* system) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<model::System*>;
  std::scoped_lock const lock{mutex};
  kept.push_back(system);
}

}  // namespace

Runner::Runner(model::Geometry const& geometry, RunnerOptions options)
    : geometry_{geometry},
      options_{std::move(options)},
      generator_{geometry_.mix},
      model_{model::shape_for(options_.system(), geometry_.layout)},
      recorder_{make_host_device()} {
  std::uint32_t const count = model_.shape().ranks * model_.shape().stages;
  for (std::uint32_t i = 0; count > 1 && i < count; ++i) {
    rank_devices_.push_back(std::make_unique<model::RankDevice>(recorder_));
    devices_.push_back(rank_devices_.back().get());
  }
  if (count == 1) {
    devices_.push_back(&recorder_);
  }
  // The engine works beside the devices that count the library's own work, unless it must be in the
  // same streams.
  std::vector<Device*> engine_devices(count, &recorder_);
  if (options_.device.is_simulated) {
    world_ = std::make_unique<model::SimWorld>();
    world_->set_order_check(options_.check_order);
    world_->set_log(options_.explain_order ? &order_log_ : nullptr);
    model_.set_asynchronous(true);
    for (std::uint32_t i = 0; i < count; ++i) {
      sim_devices_.push_back(std::make_unique<model::SimDevice>(*world_, *devices_[i], i));
      devices_[i] = engine_devices[i] = sim_devices_.back().get();
    }
  }
  Device& memory = add_shadow(engine_devices);
  add_faults(engine_devices);
  add_costs();
  engine_ = std::make_unique<model::ToyEngine>(model_.shape(), memory, engine_devices);
  if (options_.keep_log) {
    model_.keep_log();
  }
  auto const invariants = invariant::all_invariants();
  for (std::uint32_t i = 0; i < invariants.size(); ++i) {
    if (options_.system().offers.has_all_of(invariants[i]->needs)) {
      judges_.push_back(i);
    }
  }
}

Runner::~Runner() = default;

ProgramResult Runner::run_seed(std::uint64_t seed, Generator const& generator) {
  model::Source source{seed};
  model::LastNames last;
  std::uint32_t left = program_length(seed);
  auto const next = [&](AnyOp& op) {
    if (left == 0) {
      return false;
    }
    --left;
    op = generator.next(source, model_, last);
    return true;
  };
  return run(next, seed, model::mix(seed, 0x7761746368U) % options_.watch_one_in == 0);
}

ProgramResult Runner::run_ops(std::span<AnyOp const> ops, std::uint64_t sim_seed) {
  auto const next = [&](AnyOp& op) {
    while (!ops.empty()) {
      op = ops.front();
      ops = ops.subspan(1);
      if (std::visit([&](auto const& known) { return known.precondition(model_); }, op)) {
        return true;
      }
    }
    return false;
  };
  return run(next, sim_seed, options_.watch_one_in == 1);
}

ProgramResult Runner::run(NextOp const& next, std::uint64_t sim_seed, bool watched) {
  is_watched_ = watched;
  ProgramResult result;
  result.counts.programs = 1;
  start(sim_seed);
  std::string const broken = run_with_contract([&] { run_guarded(next, result); });
  if (!broken.empty()) {
    // The library stopped in the middle of a change: nothing of it can be destroyed.
    keep_for_ever(system_.release());
    report_.clear();
    report_.add({.id = "CONTRACT", .text = broken});
    fail(static_cast<std::uint32_t>(ops_.size() - 1), result);
  }
  if (shadow_) {
    shadow_->end();
  }
  // A library that broke a statement may break a contract when it is taken down.
  model::System* const system = system_.release();
  if (!run_with_contract([&] { delete system; }).empty()) {
    keep_for_ever(system);
  }
  if (result.failure) {
    recorder_.distrust();
  }
  explain_order(result);
  return result;
}

void Runner::start(std::uint64_t sim_seed) {
  if (world_) {
    world_->start(sim_seed);
    settle_source_ = model::Source{model::mix(sim_seed, 0x736574746CU)};
    constexpr std::uint32_t kRates[] = {1, 1, 3, 8, 1U << 20U};
    settle_one_in_ = kRates[settle_source_.below(std::size(kRates))];
  }
  engine_->settle();
  for (auto const& device : rank_devices_) {
    device->share(engine_->staging());
  }
  model_.reset();
  report_.clear();
  ops_.clear();
  points_.start();
  looked_in_.clear();
  for (auto const& device : cost_devices_) {
    device->start();
  }
  faults_.heal();
  is_at_end_ = false;
  recorder_.watch(is_watched_);
  system_ = options_.system().make(
      {.layout = geometry_.layout, .model = model_, .devices = devices_, .engine = *engine_});
  internals_ = system_->internals();
  if (internals_ != nullptr) {
    disturb();
    free_.start(internals_->inspect());
  }
  if (shadow_) {
    internals_->vary_writes();
    shadow_->start(model_);
  }
  bind_planes();
}

void Runner::run_guarded(NextOp const& next, ProgramResult& result) {
  AnyOp op;
  for (std::uint32_t index = 0; next(op); ++index) {
    if (options_.should_stop && options_.should_stop()) {
      return;
    }
    ops_.push_back(op);
    if (options_.on_begin) {
      options_.on_begin(op);
    }
    step(op, index, result);
    if (result.failure) {
      return;
    }
  }
  finish(result);
}

Check Runner::make_check() const {
  return Check{.visible = system_->visible(),
               .internals = internals_,
               .inspection = internals_ != nullptr ? internals_->inspect() : Inspection{nullptr},
               .planes = planes_,
               .model = model_,
               .before = subjects_[0].before};
}

void Runner::note_before(Check const& check, Subject& subject) const {
  invariant::Before& before = subject.before;
  before.live = model_.sequence(subject.name).live;
  subject.position = before.live ? model_.position(subject.name) : 0;
  before.sequence = invariant::info_of(check, subject.name);
  if (!before.live) {
    return;
  }
  states_of(check, model::label(subject.name), before.planes);
  if (internals_ == nullptr) {
    return;
  }
  Holder const holder = check.holder(subject.name);
  for (invariant::PlaneBinding const& plane : planes_) {
    PlaneState const& state = before.planes[plane.index];
    auto& pages = before.pages[plane.index];
    pages.clear();
    if (plane.info.page_rows != 0 && state.pages != 0) {
      std::uint32_t const first = plane.info.ring_rows != 0 ? 0 : state.pages - 1;
      pages.resize(state.pages - first);
      check.inspection.pages(holder, plane.index, first, pages);
    }
  }
}

/// Finds the page in the subject's table, from the first entry on that the operation may write.
bool Runner::find_entry(Check const& check,
                        Holder holder,
                        Subject const& subject,
                        invariant::Place& place) {
  PlaneInfo const& info = place.plane->info;
  std::uint32_t const plane = place.plane->index;
  bool const has_slot = info.page_rows == 0;
  bool const from_start = has_slot || info.ring_rows != 0 || !subject.before.live;
  std::uint32_t const count = has_slot ? 1 : subject.now[plane].pages;
  std::uint32_t const before = place.plane->is_draft()
                                   ? subject.before.planes[plane].length
                                   : place.plane->units(subject.before.sequence.position);
  std::uint32_t const first = from_start ? 0 : before / info.page_rows;
  pages_.resize(count - std::min(first, count));
  check.inspection.pages(holder, plane, first, pages_);
  auto const found = std::find(pages_.begin(), pages_.end(), place.page);
  if (found == pages_.end()) {
    auto const open = check.inspection.open_pages(holder.index, plane);
    bool const is_open = std::find(open.begin(), open.end(), place.page) != open.end();
    place.open = has_slot && is_open && check.inspection.page_references(plane, place.page) == 1;
    // A window moves on: rows that are below it when the handle closes are given back at once. Who else
    // holds the page that the sequence had must not see what was written there.
    auto const& kept = subject.before.pages[plane];
    auto const own = std::find(kept.begin(), kept.end(), place.page);
    bool const was_own = subject.before.live && info.window_rows != 0 && own != kept.end();
    bool const is_free = check.inspection.page_references(plane, place.page) == 0;
    if (was_own && !is_free) {
      place.entry =
          subject.before.planes[plane].pages - static_cast<std::uint32_t>(kept.end() - own);
      return true;
    }
    place.gone = place.alone =
        info.window_rows != 0 && is_free && (was_own || free_.was_free(plane, place.page));
    return is_open || place.gone;
  }
  std::uint32_t const entry = place.entry =
      first + static_cast<std::uint32_t>(found - pages_.begin());
  place.alone = check.inspection.page_references(plane, place.page) == 1 &&
                (info.chunk_pages == 0 ||
                 check.inspection.chunk_references(
                     plane, check.inspection.chunk(holder, plane, entry / info.chunk_pages)) == 1);
  return true;
}

/// What the subjects' planes are now.
void Runner::note_now(Check const& check) {
  for (std::uint32_t i = 0; i < subject_count_; ++i) {
    Subject& subject = subjects_[i];
    bool const is_there = internals_ == nullptr ? system_->visible().sequence(subject.name).live
                                                : internals_->id(subject.name).index != 0;
    if (model_.sequence(subject.name).live || is_there) {
      states_of(check, model::label(subject.name), subject.now);
    }
  }
}

/// The subject that wrote the place: who is the page's writer, or at least has it in its table;
/// else the last.
std::uint32_t Runner::owner_of(Check const& check, invariant::Place& place) {
  if (subject_count_ == 1) {
    find_entry(check, check.holder(subjects_[0].name), subjects_[0], place);
    return 0;
  }
  std::uint32_t owner = subject_count_ - 1;
  invariant::Place found = place;
  bool has_owner = false;
  std::uint64_t const writer = check.inspection.page_writer(place.plane->index, place.page);
  for (std::uint32_t i = 0; i < subject_count_; ++i) {
    Subject const& subject = subjects_[i];
    HandleId const id = internals_->id(subject.name);
    bool const is_writer = writer == ((std::uint64_t{id.generation} << 32U) | id.index);
    invariant::Place own = place;
    if ((!has_owner || is_writer) && find_entry(check, check.holder(subject.name), subject, own)) {
      has_owner = true;
      owner = i;
      found = own;
    }
  }
  place = found;
  return owner;
}

/// Gives each place that was written since the last call to the subject whose it is; what is
/// nobody's goes to the last one. Pages are looked for where the tables are now: a step is looked
/// at while its rows are open, and again at its end.
void Runner::note_places(Check const& check) {
  places_.clear();
  for (model::ByteRange const& range : recorder_.writes()) {
    invariant::add_place(planes_, range, places_);
  }
  recorder_.clear_writes();
  for (invariant::Place& place : places_) {
    if (subject_count_ != 0) {
      subjects_[owner_of(check, place)].places.push_back(place);
    }
  }
}

void Runner::note_touched(Check& check, std::uint32_t position_before) const {
  if (!check.subject || !check.got.ok || !check.want.ok || !model_.sequence(*check.subject).live ||
      model_.sequence(*check.subject).open.open || model_.sequence(*check.subject).tainted) {
    return;
  }
  check.touched = true;
  check.touched_last = model_.position(*check.subject);
  bool const loads = !model::effects_of(*check.op).loads.is_empty();
  if (!loads && check.touched_last > position_before) {
    check.touched_first = position_before;
    return;
  }
  // Rollback, fork, restore and truncate touch the last page.
  std::uint32_t const page_rows = model_.shape().page_rows;
  check.touched_first =
      check.touched_last == 0 ? 0 : (check.touched_last - 1) / page_rows * page_rows;
}

void Runner::step(AnyOp const& op, std::uint32_t index, ProgramResult& result) {
  model::OpNames const names = model::names_of(op, model_);
  Check check = make_check();
  check.op = &op;
  check.op_index = index;
  check.snapshot = names.snapshot;
  subject_count_ = names.count;
  for (std::uint32_t i = 0; i < names.count; ++i) {
    subjects_[i].name = names.sequences()[i];
    subjects_[i].places.clear();
    note_before(check, subjects_[i]);
  }
  if (options_.on_transition) {
    transitions_.before(model_, internals_, names);
  }
  points_.before(op, model_);
  model_.set_operation(index);
  begin_work(index);
  if (internals_ != nullptr) {
    internals_->set_observer([&] { look_inside(check); });
  }
  Observation const shadow_answer = run_op(op, check, result);
  note_now(check);
  look_at_owned(check);
  if (settles_) {
    settle();
  }
  end_work(check);
  points_.after(op, check.got);

  result.digest = model::mix(result.digest, digest_of(op));
  result.digest = model::mix(
      result.digest,
      check.got.ok ? check.got.value : 0x100000000U + static_cast<std::uint32_t>(check.got.code));
  result.digest = model::mix(result.digest, digest_of(check.got.says));
  ++result.counts.operations;
  result.counts.succeeded += check.got.ok ? 1 : 0;
  if (names.entry && model_.is_created(*names.entry) && model_.entry(*names.entry).live) {
    check.entry = names.entry;
  }
  if (options_.on_step) {
    options_.on_step(index, op, check.want, check.got);
  }
  if (options_.on_look) {
    options_.on_look(check);
  }
  evaluate_subjects(check, result);
  if (shadow_) {
    compare_shadow(check, shadow_answer);
  }
  if (options_.compare && !(check.want == check.got)) {
    report_.add({.id = "COMPARE",
                 .holder = names.count != 0 ? invariant::name_of(names.sequences()[0]) : "",
                 .text = std::string{model::name_of(op)} + " answered " + text_of(check.got) +
                         ", the model says " + text_of(check.want)});
  }
  if (!report_.is_clean()) {
    fail(index, result);
    return;
  }
  if (internals_ != nullptr) {
    note_free(check);
  }
  if (options_.on_transition) {
    transitions_.after(model_,
                       internals_,
                       names,
                       {.op = static_cast<std::uint32_t>(op.index()),
                        .outcome = model::outcome_of(check.got),
                        .op_index = index},
                       options_.on_transition);
  }
}

/// In the middle of a step: what it wrote is known, and nothing is decided.
void Runner::look_inside(Check const& check) {
  note_now(check);
  if (settles_) {
    settle();
  }
  is_alone_ = is_alone_ && is_settled();
  if (is_alone_) {
    note_places(check);
    look_at_leaver(check);
  }
}

bool Runner::is_settled() const noexcept {
  return !world_ || world_->is_idle();
}

/// Runs everything that is pending.
void Runner::settle() {
  if (world_) {
    world_->settle();
    model_.settle();
  }
  engine_->settle();
}

/// Before an operation: what its work does is noted from here on, if nothing else is pending.
void Runner::begin_work(std::uint32_t index) {
  is_alone_ = is_settled();
  settles_ = !world_ || settle_source_.one_in(settle_one_in_);
  if (world_) {
    world_->set_operation(index);
  }
  recorder_.clear();
  for (auto const& device : rank_devices_) {
    device->clear();
  }
}

/// After an operation: whose work was done, if all of it was and nothing else.
void Runner::end_work(Check const& check) {
  is_alone_ = is_alone_ && is_settled() && check.failed_calls == 0;
  if (is_alone_) {
    note_places(check);
  } else {
    places_.clear();
    recorder_.clear();
    for (std::uint32_t i = 0; i < subject_count_; ++i) {
      subjects_[i].places.clear();
    }
  }
}

/// Poisons what the operation gave back: what it had before, and what it took and wrote itself. While
/// work is pending that may still use it, it is only counted.
void Runner::note_free(Check const& check) {
  if (!is_settled()) {
    free_.count(check.inspection);
    return;
  }
  for (invariant::Place const& place : places_) {
    if (place.page != 0 && check.inspection.page_references(place.plane->index, place.page) == 0) {
      free_.poison(place.plane->index, place.page);
    }
  }
  free_.update(check.inspection);
}

/// The checks after one operation: cheap ones for each sequence that it is about, deep ones when
/// due.
void Runner::evaluate_subjects(Check& check, ProgramResult& result) {
  check.sim = world_.get();
  check.settled = is_settled();
  bool const deep_due =
      check.settled && check.op_index % options_.deep_every == options_.deep_every - 1;
  if (is_alone_) {
    check.rank_devices = rank_devices_;
  }
  look_for_undeclared(check, deep_due);
  if (subject_count_ == 0) {
    check.places = places_;
    check.poison_reads = recorder_.poison_reads();
    check.free_before = free_.counts();
    evaluate(check, true, deep_due, result);
    return;
  }
  for (std::uint32_t i = 0; i < subject_count_; ++i) {
    Subject const& subject = subjects_[i];
    Check own{.visible = check.visible,
              .internals = check.internals,
              .inspection = check.inspection,
              .planes = check.planes,
              .model = check.model,
              .places = subject.places,
              .poison_reads = recorder_.poison_reads(),
              .rank_devices = check.rank_devices,
              .free_before = free_.counts(),
              .now = subject.now,
              .before = subject.before,
              .op = check.op,
              .op_index = check.op_index,
              .want = check.want,
              .got = check.got,
              .subject = subject.name,
              .snapshot = check.snapshot,
              .entry = check.entry,
              .sim = check.sim,
              .cost = check.cost,
              .undeclared = check.undeclared,
              .failed_calls = check.failed_calls,
              .left_unknown = check.left_unknown,
              .settled = check.settled};
    note_touched(own, subject.position);
    evaluate(own, true, deep_due && i + 1 == subject_count_, result);
  }
}

void Runner::look_for_undeclared(Check& check, bool deep_due) {
  if (is_watched_ && (deep_due || options_.watch_one_in == 1)) {
    auto const found = recorder_.undeclared();
    check.undeclared = found ? found->base : nullptr;
  }
}

void Runner::evaluate(Check const& check, bool cheap, bool deep, ProgramResult& result) {
  auto const invariants = invariant::all_invariants();
  invariant::Report own;
  if (world_) {
    world_->set_peeking(true);
  }
  for (std::uint32_t const i : judges_) {
    invariant::Invariant const& judge = *invariants[i];
    if (cheap && judge.cheap != nullptr) {
      judge.cheap(check, own);
      ++result.counts.by_invariant[i];
    }
    if (deep && judge.deep != nullptr && own.is_clean()) {
      judge.deep(check, own);
      ++result.counts.by_invariant[i];
    }
    if (!own.is_clean()) {
      for (invariant::Violation const& violation : own.violations()) {
        report_.add(violation);
      }
      own.clear();
    }
  }
  if (world_) {
    world_->set_peeking(false);
  }
}

void Runner::fail(std::uint32_t index, ProgramResult& result) const {
  result.failure =
      Failure{.op_index = index, .at_end = is_at_end_, .violations = report_.violations()};
}

}  // namespace holdfast::fuzz
