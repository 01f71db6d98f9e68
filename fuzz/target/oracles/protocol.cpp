// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

std::optional<std::string> check_protocol_form(OracleLook const& look) {
  if (auto told = told_of(look, Ending::kProtocol)) {
    return told;
  }
  model::EngineAnswer const& answer = look.step.answer;
  bool const is_done = answer.reply == model::Reply::kOk || answer.reply == model::Reply::kWeak;
  std::size_t const wanted = is_done ? model::wanted_of(look.step.op) : 0;
  return answer.logits.size() == wanted
             ? std::nullopt
             : std::optional{std::to_string(answer.logits.size()) + " lines of logits, and " +
                             std::to_string(wanted) + " were asked for"};
}

}  // namespace

Oracle const kProtocolOracle = {
    "PROTOCOL", "an answer has the form that docs/PROTOCOL.md says", check_protocol_form};

}  // namespace holdfast::fuzz
