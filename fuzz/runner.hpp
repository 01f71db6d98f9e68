// SPDX-License-Identifier: Apache-2.0
// Runs one program: every operation on the library and on the model, compared, with the invariants
// after it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/generator.hpp"
#include "fuzz/point_watch.hpp"
#include "fuzz/transitions.hpp"
#include "invariants/registry.hpp"
#include "models/geometry/geometry.hpp"
#include "models/shadow/shadow.hpp"
#include "models/sim/witness.hpp"
#include "models/systems.hpp"
#include "models/trace.hpp"

namespace holdfast::fuzz {

/// Most invariants that counts are kept for.
inline constexpr std::uint32_t kInvariantLimit = 64;

/// What a program is checked with.
struct RunnerOptions {
  bool compare = true;    ///< compare the answers of library and model
  bool keep_log = false;  ///< note who wrote and removed each token, for reports
  std::uint32_t deep_every = 32;
  /// One in so many programs of run_seed() is watched for writes that nobody declares, when deep
  /// checks are due. 1: every program is, run_ops() too, after each operation.
  std::uint32_t watch_one_in = 16;
  /// The system under test, and its devices. The seed is for run_ops(); run_seed() has one for each
  /// program.
  model::DeviceChoice device;
  model::ShadowPool* shadow_pool = nullptr;  ///< devices of the shadow; none: CUDA devices
  bool check_order = true;     ///< on simulated devices, look for accesses that nothing orders
  bool explain_order = false;  ///< say which order is missing, too
  bool faults = false;         ///< device calls fail in the programs of a swarm
  /// Called before each operation; for those that may not come back from it.
  std::function<void(model::AnyOp const& op)> on_begin;
  /// Asked before each operation; true ends the program there, and nothing is said of its end.
  std::function<bool()> should_stop;
  /// Called after each operation; for replays.
  std::function<void(std::uint32_t index,
                     model::AnyOp const& op,
                     model::Observation const& want,
                     model::Observation const& got)>
      on_step;
  /// Called after each operation that came back, before anything is judged; for pictures.
  std::function<void(invariant::Check const& check)> on_look;
  /// Called after each operation that held, for each thing that it is about; for coverage.
  std::function<void(model::Transition const& transition)> on_transition;

  /// The system under test.
  [[nodiscard]] model::SystemInfo const& system() const noexcept {
    return device.system != nullptr ? *device.system : model::library_system();
  }
};

/// What went wrong, and where.
struct Failure {
  std::uint32_t op_index = 0;
  bool at_end = false;  ///< found when the program was over, whatever its last operation
  std::vector<invariant::Violation> violations;
  std::string why;  ///< lines on the order that is missing, when that was asked for
};

/// Counts of one or many programs; they add up.
struct Counts {
  std::uint64_t programs = 0;
  std::uint64_t operations = 0;
  std::uint64_t succeeded = 0;  ///< operations that were not refused
  std::uint64_t rows = 0;       ///< written by appends, rounds and rewrites that were not refused
  std::array<std::uint64_t, kInvariantLimit> by_invariant{};  ///< evaluations of each

  /// Evaluations of all invariants.
  [[nodiscard]] std::uint64_t checks() const noexcept;
  void add(Counts const& other) noexcept;
};

/// Outcome of one program.
struct ProgramResult {
  Counts counts;
  std::uint64_t digest = 0;
  std::optional<Failure> failure;
};

/// Covers all that an answer says beside its code and number.
[[nodiscard]] std::uint64_t digest_of(model::Details const& says) noexcept;
/// "ok(3)", "kBusy".
[[nodiscard]] std::string text_of(model::Observation const& answer);

/// Runs programs of one geometry, one after the other. One thread at a time.
class Runner {
 public:
  /// Says the next operation; false ends the program.
  using NextOp = std::function<bool(model::AnyOp& op)>;

  Runner(model::Geometry const& geometry, RunnerOptions options);
  ~Runner();
  Runner(Runner const&) = delete;
  Runner& operator=(Runner const&) = delete;

  /// Draws and runs the program of a seed, with the geometry's own mix.
  ProgramResult run_seed(std::uint64_t seed) { return run_seed(seed, generator_); }
  /// The same with another generator.
  ProgramResult run_seed(std::uint64_t seed, Generator const& generator);
  /// Runs given operations; one whose precondition does not hold is skipped.
  ProgramResult run_ops(std::span<model::AnyOp const> ops) {
    return run_ops(ops, options_.device.seed);
  }
  /// The same with another seed of simulated devices.
  ProgramResult run_ops(std::span<model::AnyOp const> ops, std::uint64_t sim_seed);
  /// Runs the operations that `next` says; their preconditions must hold.
  ProgramResult run(NextOp const& next) {
    return run(next, options_.device.seed, options_.watch_one_in == 1);
  }
  /// The operations of the last program, up to and with a failing one.
  [[nodiscard]] std::vector<model::AnyOp> const& ops() const noexcept { return ops_; }
  [[nodiscard]] model::Geometry const& geometry() const noexcept { return geometry_; }
  /// The geometry's own mix.
  [[nodiscard]] Generator const& generator() const noexcept { return generator_; }
  /// Device calls of the last operation, and how many of them failed.
  [[nodiscard]] model::FaultSwitch const& faults() const noexcept { return faults_; }
  /// The reference model as the last program left it.
  [[nodiscard]] model::Model const& model() const noexcept { return model_; }

 private:
  /// One sequence that an operation is about.
  struct Subject {
    model::SequenceName name;
    std::uint32_t position = 0;  // before the operation
    invariant::Before before;
    std::vector<PlaneState> now;
    std::vector<invariant::Place> places;
  };

  ProgramResult run(NextOp const& next, std::uint64_t sim_seed, bool watched);
  void run_guarded(NextOp const& next, ProgramResult& result);
  void start(std::uint64_t sim_seed);
  void look_for_undeclared(invariant::Check& check, bool deep_due);
  void bind_planes();
  void bind_classes(Inspection const& inspection);
  void bind_shape();
  void step(model::AnyOp const& op, std::uint32_t index, ProgramResult& result);
  void note_before(invariant::Check const& check, Subject& subject) const;
  void note_now(invariant::Check const& check);
  void note_places(invariant::Check const& check);
  bool find_entry(invariant::Check const& check,
                  Holder holder,
                  Subject const& subject,
                  invariant::Place& place);
  std::uint32_t owner_of(invariant::Check const& check, invariant::Place& place);
  void note_free(invariant::Check const& check);
  void look_inside(invariant::Check const& check);
  [[nodiscard]] bool is_settled() const noexcept;
  void settle();
  void begin_work(std::uint32_t index);
  void end_work(invariant::Check const& check);
  void look_at_owned(invariant::Check const& check);
  void look_at_planes(invariant::Check const& check, Subject const& subject, Stream stream);
  void add_rows(invariant::PlaneBinding const& plane, std::uint32_t rank, PlaneState const& state);
  Device& add_shadow(std::vector<Device*>& engine_devices);
  void compare_shadow(invariant::Check const& check, model::Observation const& answer);
  void add_faults(std::vector<Device*>& engine_devices);
  void add_costs();
  void disturb();
  /// Returns what the shadow answered, or the library when there is none.
  model::Observation run_op(model::AnyOp const& op, invariant::Check& check, ProgramResult& result);
  void adopt_failure(model::AnyOp const& op, invariant::Check& check);
  void adopt_failed_subject(Subject const& subject, invariant::Check& check);
  void adopt_taint(Subject const& subject, invariant::Check& check);
  [[nodiscard]] bool has_state(Subject const& subject, invariant::Check const& check) const;
  void evaluate_subjects(invariant::Check& check, ProgramResult& result);
  void look_at_leaver(invariant::Check const& check);
  void note_touched(invariant::Check& check, std::uint32_t position_before) const;
  void evaluate(invariant::Check const& check, bool cheap, bool deep, ProgramResult& result);
  void finish(ProgramResult& result);
  void digest_visible(ProgramResult& result);
  void explain_order(ProgramResult& result) const;
  void fail(std::uint32_t index, ProgramResult& result) const;
  [[nodiscard]] invariant::Check make_check() const;

  model::Geometry geometry_;
  RunnerOptions options_;
  Generator generator_;
  model::Model model_;
  model::Recorder recorder_;
  std::vector<std::unique_ptr<model::RankDevice>> rank_devices_;  // when there are several
  std::vector<Device*> devices_;
  model::OrderLog order_log_;
  std::unique_ptr<model::SimWorld> world_;  // of simulated devices
  std::vector<std::unique_ptr<model::SimDevice>> sim_devices_;
  model::FaultSwitch faults_;
  std::vector<std::unique_ptr<model::FaultDevice>> fault_devices_;  // around all others
  std::vector<std::unique_ptr<model::CostDevice>> cost_devices_;  // the library's own, if simulated
  model::Cost cost_;                                              // so far
  model::Cost spent_;                                             // in the last operation
  std::uint32_t settle_one_in_ = 1;  // operations after which the host waits for everything
  model::Source settle_source_{0};
  model::FreeStorage free_{recorder_};
  std::unique_ptr<model::Shadow> shadow_;  // on CUDA devices
  std::unique_ptr<model::ToyEngine> engine_;
  std::unique_ptr<model::System> system_;
  model::HoldfastSystem* internals_ = nullptr;  // of the system, when it has some
  std::vector<invariant::PlaneBinding> planes_;
  std::array<Subject, model::kStepItemLimit> subjects_;
  std::uint32_t subject_count_ = 0;
  bool is_alone_ = true;  // nothing else is pending, so that the operation's work is its own
  bool settles_ = true;   // after this operation the host waits for everything
  bool is_at_end_ = false;
  bool is_watched_ = false;  // the program is, for undeclared writes
  TransitionWatch transitions_;
  PointWatch points_;
  std::vector<invariant::Place> places_;
  std::vector<model::ByteRange> looks_;           // of one device
  std::vector<std::optional<Stream>> looked_in_;  // by sequence's name: the stream of its last look
  std::vector<std::uint32_t> pages_;              // of the table that a place is looked for in
  std::vector<std::uint32_t> judges_;  // invariants that the system offers what they need
  invariant::Report report_;
  std::vector<model::AnyOp> ops_;
  std::vector<float> bytes_;
};

}  // namespace holdfast::fuzz
