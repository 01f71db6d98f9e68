// SPDX-License-Identifier: Apache-2.0
// The parts of the gate that run in process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/gate.hpp"
#include "fuzz/runner.hpp"
#include "fuzz/swarm.hpp"
#include "models/geometry/geometry.hpp"
#include "models/trace.hpp"

namespace holdfast::fuzz {

/// What the checks need to know.
struct GateContext {
  std::vector<model::Geometry> geometries;
  std::uint64_t seed = 0;
  /// A command line of this program from its words, with what turns the same mutant on.
  std::function<std::string(std::vector<std::string> words)> command;
};

/// A trace of the corpus.
struct GateTrace {
  std::string path;
  model::Geometry geometry;
  std::vector<model::AnyOp> ops;
  model::DeviceChoice device;
};

/// Every trace holds, with deep checks after every operation, and all of its operations run.
[[nodiscard]] GatePart corpus_part(GateContext const& context, std::vector<GateTrace> traces);

/// Every built-in geometry can be read, and a cache of it made and used; the full-size ones are
/// read only.
[[nodiscard]] GatePart geometry_part(GateContext const& context);

/// Programs come back the same from the text and the byte form.
[[nodiscard]] GatePart forms_part(GateContext const& context, std::uint32_t programs);

/// Every program of at most `depth` operations from the boundary sets, from every start state.
[[nodiscard]] GatePart exhaustive_part(GateContext const& context, std::uint32_t depth);

/// So many programs of the swarm of each geometry run twice, by two runners and in opposite order,
/// with the same answers.
[[nodiscard]] GatePart determinism_part(GateContext const& context, std::uint32_t programs);

/// Failures on schedule - a broken contract, a crash, an answer that changes - are reported, and
/// nothing else is. With `muted` they do not happen, and so the part must fail.
[[nodiscard]] GatePart canary_part(GateContext const& context, bool muted);

/// Random programs for so many seconds.
[[nodiscard]] GatePart random_part(GateContext const& context,
                                   double seconds,
                                   std::uint32_t threads);

/// A number for each operation of a program that depends on all operations and answers so far; the
/// last stands for all visible bytes at the end.
using Chain = std::vector<std::uint64_t>;

/// Index of the first operation at which two runs of a program differ.
[[nodiscard]] std::optional<std::size_t> first_difference(Chain const& one, Chain const& other);

/// The swarm of one geometry, and the chains of its programs.
class Chains {
 public:
  Chains(model::Geometry const& geometry, std::uint64_t seed);
  Chain of(std::uint64_t index);
  /// Text of an operation of a program that ran last; of one behind its end, what stands there.
  [[nodiscard]] std::string operation(std::uint64_t index, std::size_t number);

 private:
  Chain chain_;
  Swarm swarm_;
  SwarmRunner runner_;
};

}  // namespace holdfast::fuzz
