// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/engine_runner.hpp"

#include <algorithm>
#include <cmath>

#include "fuzz/target/oracles/oracle.hpp"
#include "models/input_error.hpp"
#include "models/source.hpp"

namespace holdfast::fuzz {
namespace {

using model::EngineOp;
using model::Logits;

/// Compares the logits of a step.
void measure_error(EngineStep& step) {
  std::size_t const count = std::min(step.answer.logits.size(), step.want.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (step.want[i] != nullptr) {
      step.error =
          std::max(step.error, model::relative_error(step.answer.logits[i], *step.want[i]));
      ++step.compared;
    }
  }
}

/// The first oracle that reports decides.
bool ask_oracles(OracleLook const& look, EngineVerdict& verdict) {
  for (Oracle const* const oracle : all_oracles()) {
    if (auto const fault = oracle->check(look)) {
      verdict.oracle = oracle->id;
      verdict.text = *fault;
      return true;
    }
  }
  return false;
}

}  // namespace

EngineRunner::EngineRunner(Target const& target) : session_{target} {
  calibration_ =
      target.tolerance > 0 ? Calibration{.tolerance = target.tolerance} : calibrate(session_);
}

EngineRunner::EngineRunner(Target const& target, Calibration const& known)
    : session_{target}, calibration_{known} {}

EngineVerdict EngineRunner::judge(EngineRun run, std::size_t operations) const {
  EngineVerdict verdict{.refused_knobs = run.refused_knobs, .steps = std::move(run.steps)};
  for (std::size_t i = 0; i < verdict.steps.size(); ++i) {
    EngineStep& step = verdict.steps[i];
    if (step.skipped) {
      ++verdict.skipped;
      continue;
    }
    verdict.at = i;
    measure_error(step);
    if (ask_oracles({step, calibration_.tolerance, Trouble{}}, verdict)) {
      return verdict;
    }
  }
  if (ask_oracles({EngineStep{}, calibration_.tolerance, run.trouble}, verdict)) {
    verdict.at = std::min(verdict.steps.size(), operations == 0 ? 0 : operations - 1);
  }
  return verdict;
}

EngineVerdict EngineRunner::run(EngineProgram const& program) {
  EngineRun run = session_.run(program, false);
  bool const died = run.trouble.ending != Ending::kFine;
  EngineVerdict verdict = judge(std::move(run), program.ops.size());
  if (died) {
    // Answers that were on their way are lost with the process: one by one, it is known how far it came.
    session_.restart();
    EngineVerdict slow = judge(session_.run(program, true), program.ops.size());
    session_.restart();
    if (slow.failed()) {
      return slow;
    }
  }
  return verdict;
}

EngineVerdict EngineRunner::run_fresh(EngineProgram const& program) {
  session_.restart();
  return run(program);
}

namespace {

/// A history of some tokens.
std::vector<std::uint32_t> draw_tokens(model::Source& source, model::Hello const& hello) {
  std::uint32_t const most = std::min({32U, hello.context / 2, hello.batch * 4});
  std::vector<std::uint32_t> tokens(source.between(std::min(3U, most), most));
  std::uint32_t const first = source.below(hello.vocabulary);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = (first + static_cast<std::uint32_t>(i)) % hello.vocabulary;
  }
  return tokens;
}

/// The program that gives a sequence these tokens in chunks, with another sequence between them.
std::vector<EngineOp> chunks_of(std::vector<std::uint32_t> const& tokens,
                                model::Source& source,
                                model::Hello const& hello) {
  std::vector<EngineOp> ops;
  std::uint32_t at = 0;
  auto const size = static_cast<std::uint32_t>(tokens.size());
  while (at < size) {
    std::uint32_t const most = std::min(hello.batch > 1 ? hello.batch - 1 : 1, size - at);
    std::uint32_t const rows = source.between(1, std::min(most, 7U));
    EngineOp op;
    op.items.push_back(
        {0, rows, tokens[at], at + rows == size ? model::Ask::kLast : model::Ask::kNone});
    if (hello.sequences > 1 && hello.batch > rows && source.one_in(2)) {
      op.items.insert(op.items.begin(), {1, 1, source.below(hello.vocabulary), model::Ask::kNone});
    }
    ops.push_back(op);
    at += rows;
  }
  return ops;
}

struct Errors {
  std::vector<double> noise;
  std::vector<double> signal;
};

void measure(Session& session, model::Knobs const& knobs, std::uint64_t seed, Errors& errors) {
  constexpr std::uint32_t kTrials = 6;
  model::Hello const& hello = session.hello();
  model::Source source{seed};
  for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
    std::vector<std::uint32_t> tokens = draw_tokens(source, hello);
    auto const cold = session.cold(knobs, tokens, 0);
    EngineRun const run =
        session.run({.knobs = knobs, .ops = chunks_of(tokens, source, hello)}, false);
    if (!cold || run.steps.empty() || run.steps.back().answer.logits.empty()) {
      continue;  // the oracles will say it
    }
    errors.noise.push_back(model::relative_error(run.steps.back().answer.logits.back(), *cold));
    std::uint32_t const other = source.below(static_cast<std::uint32_t>(tokens.size()));
    tokens[other] = (tokens[other] + 1 + source.below(hello.vocabulary - 1)) % hello.vocabulary;
    if (auto const changed = session.cold(knobs, tokens, 0)) {
      errors.signal.push_back(model::relative_error(*changed, *cold));
    }
  }
}

}  // namespace

Calibration calibrate(Session& session) {
  constexpr double kSmallestNoise = 1e-7;
  constexpr double kApart = 10;
  model::Hello const& hello = session.hello();
  Errors errors;
  measure(session, hello.completed({}, "calibration"), 1, errors);
  std::uint64_t seed = 1;
  for (model::KnobInfo const& knob : hello.knobs) {
    for (std::size_t i = 1; i < knob.values.size(); ++i) {
      measure(
          session, hello.completed({{knob.name, knob.values[i]}}, "calibration"), ++seed, errors);
    }
  }
  auto const quantile = [](std::vector<double>& values, double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
  };
  if (errors.noise.empty() || errors.signal.empty()) {
    throw model::InputError("target " + session.target().name +
                            ": no calibration: the engine does not answer decode and cold");
  }
  // An engine that is wrong at once must not hide behind its own error: most trials decide.
  Calibration found{.noise = std::max(quantile(errors.noise, 0.75), kSmallestNoise),
                    .signal = quantile(errors.signal, 0.25)};
  if (!std::isfinite(found.noise) || !std::isfinite(found.signal)) {
    throw model::InputError("target " + session.target().name +
                            ": no calibration: the logits of most histories are not finite");
  }
  if (!(found.signal >= kApart * found.noise)) {
    throw model::InputError(
        "target " + session.target().name + ": chunks of the same tokens change logits by " +
        std::to_string(found.noise) + ", one other token by " + std::to_string(found.signal) +
        ": less than ten times apart, nothing could be told");
  }
  found.tolerance = std::min(std::sqrt(found.noise * found.signal), found.signal / 3);
  return found;
}

}  // namespace holdfast::fuzz
