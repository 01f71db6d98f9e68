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

/// The first number that is none.
std::string no_number(model::EngineAnswer const& answer) {
  for (model::Logits const& logits : answer.logits) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (!std::isfinite(logits[i])) {
        return "logit " + std::to_string(i) + " is " + short_number(static_cast<double>(logits[i]));
      }
    }
  }
  return "a logit of the fresh context is not finite";
}

std::optional<std::string> check_logits(OracleLook const& look) {
  EngineStep const& step = look.step;
  if (step.answer.reply != model::Reply::kOk || step.error <= look.tolerance) {
    return std::nullopt;
  }
  if (!std::isfinite(step.error)) {
    return no_number(step.answer);
  }
  return "logits are off by " + short_number(step.error) +
         " of the largest, and the tolerance is " + short_number(look.tolerance);
}

}  // namespace

Oracle const kLogitsOracle = {
    "LOGITS", "logits are those of a fresh context that was given the same history", check_logits};

}  // namespace holdfast::fuzz
