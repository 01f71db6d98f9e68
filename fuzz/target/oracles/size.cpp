// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

std::optional<std::string> check_size(OracleLook const& look) {
  EngineStep const& step = look.step;
  auto const bytes = step.answer.number("bytes");
  auto const promised = step.answer.number("promised");
  if (step.answer.reply != model::Reply::kOk || !bytes) {
    return std::nullopt;
  }
  if (promised && *promised != *bytes) {
    return std::to_string(*bytes) + " bytes were written, and " + std::to_string(*promised) +
           " were promised";
  }
  bool const loads = model::info_of(step.op.kind).is(model::kLoads);
  if (loads && step.saved_bytes && *step.saved_bytes != *bytes) {
    return std::to_string(*bytes) + " bytes were read, and " + std::to_string(*step.saved_bytes) +
           " were saved";
  }
  return std::nullopt;
}

}  // namespace

Oracle const kSizeOracle = {
    "SIZE", "bytes written, promised and read are the same number", check_size};

}  // namespace holdfast::fuzz
