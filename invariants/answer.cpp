// SPDX-License-Identifier: Apache-2.0
// ANSWER: what a call says beside its code and number is what the model derives.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

using model::Details;

std::string text_of(char const* word) {
  return Details::is_said(word) ? "'" + std::string{word} + "'" : "unsaid";
}
template <typename Number>
std::string text_of(Number number) {
  return Details::is_said(number) ? std::to_string(number) : "unsaid";
}

void cheap(Check const& check, Report& report) {
  if (!(check.want == check.got) || !check.got.asked) {
    return;  // another answer is for other invariants
  }
  Details::fields(
      check.want.says,
      check.got.says,
      [&](char const* part, auto must, auto said, std::uint32_t item = UINT32_MAX) {
        if (Details::is_said(must) && !Details::are_same(must, said)) {
          report.add({.id = "ANSWER",
                      .holder = check.subject ? name_of(*check.subject) : "",
                      .text = std::string{part} +
                              (item == UINT32_MAX ? "" : " of item " + std::to_string(item)) +
                              " is " + text_of(said) + ", must be " + text_of(must)});
        }
      });
}

}  // namespace

extern Invariant const kAnswer;
Invariant const kAnswer{"ANSWER",
                        "answers",
                        "what a call says beside its code and number - subject, layer, item and "
                        "figures of a refusal, what limits a hit, rows to append, bytes - is what "
                        "its header promises",
                        model::Facet::kVisible | model::Facet::kReasons,
                        {},
                        &cheap,
                        nullptr};

}  // namespace holdfast::invariant
