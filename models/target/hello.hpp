// SPDX-License-Identifier: Apache-2.0
// What an adapter declares in its answer to `hello` (docs/PROTOCOL.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/target/op.hpp"

namespace holdfast::model {

/// Values of knobs by name.
using Knobs = std::map<std::string, std::string>;

/// "unified=1 ubatch=4"
[[nodiscard]] std::string text_of(Knobs const& knobs);
/// Throws InputError when it is not of that form.
[[nodiscard]] Knobs parse_knobs(std::string_view text, std::string const& origin);

/// A number, or the name of the knob that has it.
struct KnobNumber {
  std::uint32_t value = 0;
  std::string knob;

  [[nodiscard]] std::uint32_t under(Knobs const& knobs) const;
};

/// When something holds, judged on histories.
enum class Condition : std::uint8_t {
  kAny,
  kPartial,
  kMiddle,
  kDeeper,
  kWindow,
  kFull,
  kLonger,
  kLive,
  kEmpty,
  kDamaged,
  kBounded,
  kLast,
  kCount
};

[[nodiscard]] char const* name_of(Condition condition) noexcept;

/// "legal remove when=deeper:depth unified=1"
struct Clause {
  EngineKind kind = EngineKind::kCount;
  Condition condition = Condition::kAny;
  KnobNumber number;
  Knobs knobs;  // with these alone; "lfm2,qwen35" is one of them

  [[nodiscard]] bool is_for(EngineKind other, Knobs const& set) const;
};

struct KnobInfo {
  std::string name;
  std::vector<std::string> values;
};

struct EdgeInfo {
  std::string name;
  KnobNumber number;
};

struct Hello {
  std::string engine;
  std::string version;
  std::uint32_t protocol = 0;
  std::uint32_t vocabulary = 0;
  std::uint32_t sequences = 0;
  std::uint32_t context = 0;
  std::uint32_t batch = 0;
  std::uint64_t operations = 0;  // bits by kind
  std::vector<KnobInfo> knobs;
  std::vector<EdgeInfo> edges;
  std::vector<Clause> legal;
  std::vector<Clause> weak;
  std::vector<std::string> unknown;  // lines that this version does not know

  [[nodiscard]] bool has(EngineKind kind) const noexcept {
    return ((operations >> static_cast<std::uint32_t>(kind)) & 1U) != 0;
  }
  /// The named values, and first values of the knobs that are not named. Throws InputError when there is
  /// no such knob or value.
  [[nodiscard]] Knobs completed(Knobs const& some, std::string const& origin) const;
};

/// Reads the lines of the answer, the closing one last. Throws InputError "line N of hello: what is wrong".
[[nodiscard]] Hello parse_hello(std::vector<std::string> const& lines);

/// "partial", "deeper:depth". Throws InputError.
void parse_condition(std::string_view text, Clause& clause);

}  // namespace holdfast::model
