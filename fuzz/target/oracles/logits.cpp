// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

std::string short_number(double value) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof(text), "%.2g", value));
  return text;
}

std::optional<std::string> check_logits(OracleLook const& look) {
  EngineStep const& step = look.step;
  if (step.answer.reply != model::Reply::kOk || step.error <= look.tolerance) {
    return std::nullopt;
  }
  return "logits are off by " +
         (std::isfinite(step.error) ? short_number(step.error) : "no number") +
         " of the largest, and the tolerance is " + short_number(look.tolerance);
}

}  // namespace

Oracle const kLogitsOracle = {
    "LOGITS", "logits are those of a fresh context that was given the same history", check_logits};

}  // namespace holdfast::fuzz
