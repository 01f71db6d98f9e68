// SPDX-License-Identifier: Apache-2.0
#include "fuzz/frontier.hpp"

#include <optional>
#include <utility>

#include "fuzz/op_fields.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::Coverage;
using model::Trace;
using model::Transition;

/// Runs programs, adds what they see, and says whether that was new.
class Watcher {
 public:
  explicit Watcher(Coverage& coverage) : coverage_{coverage} {}
  Watcher(Watcher const&) = delete;
  Watcher& operator=(Watcher const&) = delete;

  struct Outcome {
    bool ran = false;
    bool failed = false;
    bool is_new = false;
  };
  Outcome run(Trace const& program) {
    ShelvedGeometry* const known = shelf_.find(program.geometry);
    if (known == nullptr) {
      return {};
    }
    runner_ = &known->runner;
    geometry_ = &program.geometry;
    std::size_t const before = coverage_.edge_count();
    bool const failed = runner_->run_ops(program.ops).failure.has_value();
    coverage_.note_program();
    return {.ran = true, .failed = failed, .is_new = coverage_.edge_count() != before};
  }
  [[nodiscard]] GeometryShelf& shelf() { return shelf_; }

 private:
  Coverage& coverage_;
  Runner* runner_ = nullptr;
  std::string const* geometry_ = nullptr;
  GeometryShelf shelf_{{.on_transition = [this](Transition const& transition) {
    coverage_.note(transition, *geometry_, runner_->ops());
  }}};
};

bool is_tried(Coverage const& coverage, model::UnseenEdge const& edge) {
  for (auto at = coverage.edges().lower_bound({edge.from, edge.op, 0});
       at != coverage.edges().end() && at->first.from == edge.from && at->first.op == edge.op;
       ++at) {
    if (model::tells_states_apart(at->first.outcome)) {
      return true;
    }
  }
  return false;
}

/// The way to the state, then operations of the wanted kind, on whatever the generator picks.
std::optional<Trace> attempt(Watcher& watcher,
                             Trace const& way,
                             std::uint32_t kind,
                             model::Source& source) {
  ShelvedGeometry* const known = watcher.shelf().find(way.geometry);
  if (known == nullptr) {
    return std::nullopt;
  }
  known->model.reset();
  for (AnyOp const& op : way.ops) {
    // A file may say anything; what makes no sense is passed over, as by a runner.
    std::visit(
        [&](auto const& it) {
          if (it.precondition(known->model)) {
            static_cast<void>(it.apply(known->model, {}));
          }
        },
        op);
  }
  Weights weights{};
  weights[kind] = 1;
  Generator const generator{weights, {.mean_rows = known->geometry.mix.mean_rows}};
  AnyOp const op = generator.next(source, known->model);
  if (op.index() != kind) {
    return std::nullopt;  // it makes no sense there
  }
  Trace program = way;
  program.ops.push_back(op);
  return program;
}

/// One round over what is unseen when it begins.
void push_once(Coverage& coverage,
               Watcher& watcher,
               model::Source& source,
               std::uint32_t tries,
               GoOn const& go_on,
               FrontierResult& result) {
  for (model::UnseenEdge const& edge : coverage.unseen()) {
    if (go_on && !go_on()) {
      return;
    }
    Trace const way = *coverage.witness(edge.from);
    if (watcher.shelf().find(way.geometry) == nullptr) {
      result.unusable.insert(way.geometry);
      continue;
    }
    ++result.aimed_at;
    for (std::uint32_t i = 0; i < tries && !is_tried(coverage, edge); ++i) {
      auto program = attempt(watcher, way, edge.op, source);
      if (!program) {
        continue;
      }
      Watcher::Outcome const outcome = watcher.run(*program);
      if (outcome.failed) {
        result.failed.push_back(std::move(*program));
        break;
      }
      if (outcome.is_new) {
        result.seeds.push_back(std::move(*program));
      }
    }
    result.reached += is_tried(coverage, edge) ? 1U : 0U;
  }
}

}  // namespace

FrontierResult push_frontier(Coverage& coverage,
                             std::uint64_t seed,
                             std::uint32_t tries,
                             GoOn const& go_on) {
  constexpr std::uint32_t kMostRounds = 16;
  FrontierResult result;
  Watcher watcher{coverage};
  model::Source source{seed};
  for (std::uint32_t round = 0; round < kMostRounds; ++round) {
    std::size_t const before = result.seeds.size();
    push_once(coverage, watcher, source, tries, go_on, result);
    if (result.seeds.size() == before || !result.failed.empty() || (go_on && !go_on())) {
      break;
    }
  }
  return result;
}

std::uint64_t replay_for_coverage(std::vector<Trace> const& programs,
                                  Coverage& coverage,
                                  GoOn const& go_on) {
  Watcher watcher{coverage};
  std::uint64_t ran = 0;
  for (Trace const& program : programs) {
    if (go_on && !go_on()) {
      break;
    }
    ran += watcher.run(program).ran ? 1U : 0U;
  }
  return ran;
}

}  // namespace holdfast::fuzz
