// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

std::optional<std::string> check_refusal(OracleLook const& look) {
  EngineStep const& step = look.step;
  if (step.answer.reply == model::Reply::kWeak && !step.may_be_weak) {
    return "it was answered with weak, and no case that is declared holds";
  }
  if (step.answer.reply != model::Reply::kRefused) {
    return std::nullopt;
  }
  if (!step.may_refuse) {
    return "it was refused (" + (step.answer.rest.empty() ? "" : step.answer.rest.substr(1)) +
           "), and no case that is declared holds";
  }
  if (step.before != step.after) {
    return "it was refused, and positions were " + model::text_of(step.before) + ", and are " +
           model::text_of(step.after);
  }
  return std::nullopt;
}

}  // namespace

Oracle const kRefusalOracle = {
    "REFUSAL", "what is refused or weak may be, and a refusal changes no position", check_refusal};

}  // namespace holdfast::fuzz
