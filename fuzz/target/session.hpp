// SPDX-License-Identifier: Apache-2.0
// Programs on one engine: sent in pieces of many operations, answered, and compared with the histories. The process is started
// when it is needed, and again after it died. Logits of histories are kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/target/engine_process.hpp"
#include "fuzz/target/target.hpp"
#include "models/target/history.hpp"

namespace holdfast::fuzz {

/// Operations with the knobs under which they run.
struct EngineProgram {
  model::Knobs knobs;
  std::vector<model::EngineOp> ops;
  std::uint32_t seed = 0;
  /// Operations that were drawn, and are not in it since a known finding needs them.
  std::uint32_t left_out = 0;
  /// Where answers were not the likely ones, an operation may need a known finding that it did not need when it was
  /// drawn: it is not sent, unless the finding is this one. Nothing: all are sent.
  std::optional<std::string> avoids_all_but;
};

/// One operation with everything that oracles look at.
struct EngineStep {
  model::EngineOp op;
  bool skipped =
      false;  // not sent: after what the engine answered it makes no sense, or is avoided
  model::EngineAnswer answer;
  bool may_refuse = false;
  bool may_be_weak = false;
  model::SequenceSet named = 0;
  model::SequenceSet lost = 0;  // nothing is known of these afterwards
  model::Positions before;      // as the engine said
  model::Positions after;
  model::Positions expected;                 // of those that are not lost
  std::optional<std::uint64_t> saved_bytes;  // of the entry that is loaded, when it is whole
  std::vector<model::Expected> histories;    // of the logits
  std::vector<model::Logits const*> want;    // nullptr: nothing is expected
  double error = 0;                          // the largest of its logits
  std::uint32_t compared = 0;                // logits that were
};

/// What one program did.
struct EngineRun {
  bool refused_knobs = false;
  std::vector<EngineStep> steps;  // that were answered or skipped, in order
  Trouble trouble;  // how the process ended; it is about the operation after the last step
};

struct SessionCounts {
  std::uint64_t starts = 0;
  std::uint64_t cold_asked = 0;
  std::uint64_t cold_known = 0;
};

class Session {
 public:
  explicit Session(Target const& target);

  /// What the adapter declares; asked when the process is started. Throws InputError when it is no hello.
  [[nodiscard]] model::Hello const& hello();
  /// Runs a program. One by one: each operation is sent after the answer to the one before it.
  EngineRun run(EngineProgram const& program, bool one_by_one);
  /// Logits of a history in a context of its own; nothing when the process died of it.
  std::optional<model::Logits> cold(model::Knobs const& knobs,
                                    std::vector<std::uint32_t> const& tokens,
                                    std::uint32_t first);
  /// Ends the process; the next program has a fresh one.
  void restart();
  [[nodiscard]] std::string said() const;
  [[nodiscard]] SessionCounts const& counts() const noexcept { return counts_; }
  [[nodiscard]] Target const& target() const noexcept { return target_; }
  /// Forgets all logits that were asked for.
  void forget() { known_.clear(); }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;

  void start();
  Trouble ask(std::string const& lines,
              std::size_t count,
              std::vector<model::EngineAnswer>& answers);
  [[nodiscard]] Key key_of(std::uint32_t first,
                           std::uint32_t const* tokens,
                           std::size_t count) const;
  Trouble fetch(EngineProgram const& program, EngineRun& run);

  Target const& target_;
  std::unique_ptr<EngineProcess> process_;
  std::optional<model::Hello> hello_;
  std::uint64_t knobs_seed_ = 0;  // of the keys
  std::map<Key, model::Logits> known_;
  std::string last_said_;
  SessionCounts counts_;
};

}  // namespace holdfast::fuzz
