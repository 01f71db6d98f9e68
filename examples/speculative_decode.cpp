// SPDX-License-Identifier: Apache-2.0
// Speculative decoding: a cheap draft guesses three tokens, one round checks them, and the cache
// keeps those that were right. The text is that of plain decoding, in fewer steps.
#include <cstdio>

#include "examples/tiny_model.hpp"

namespace {

using holdfast::Result;
using holdfast::Sequence;

constexpr std::string_view kPrompt =
    "The cat sat on the mat. The dog sat on the cat. The cat ran. The dog sat on the";
constexpr std::uint32_t kLength = 64;  // characters to say

/// The draft: what followed the last token the last time that it was there.
std::string guess(std::string const& text, std::uint32_t count) {
  std::size_t at = text.rfind(text.back(), text.size() - 2);
  std::string drafts;
  while (at != std::string::npos && drafts.size() < count && at + 1 < text.size()) {
    drafts += text[++at];
  }
  return drafts;
}

Result<std::string> decode(Sequence& sequence, char next) {
  std::string said;
  while (said.size() < kLength) {
    said += next;
    auto const following = tiny::read(sequence, std::string_view{&next, 1});
    HOLDFAST_TRY(following);
    next = *following;
  }
  return said;
}

Result<std::string> decode_speculatively(Sequence& sequence, char next) {
  std::string text{kPrompt};
  std::uint32_t steps = 0;
  std::uint32_t drafted = 0;
  std::uint32_t accepted = 0;
  while (text.size() < kPrompt.size() + kLength) {
    text += next;
    std::string const drafts = guess(text, 3);
    std::string const tokens = next + drafts;
    auto round = sequence.verify(static_cast<std::uint32_t>(tokens.size()));
    HOLDFAST_TRY(round);
    auto const following = tiny::forward(*round, tokens);
    HOLDFAST_TRY(following);
    std::uint32_t right = 0;
    while (right < drafts.size() && drafts[right] == (*following)[right]) {
      ++right;
    }
    HOLDFAST_TRY(round->accept(1 + right));  // every plane goes back to there
    text += drafts.substr(0, right);
    next = (*following)[right];
    ++steps;
    drafted += static_cast<std::uint32_t>(drafts.size());
    accepted += right;
  }
  std::printf("speculative: %u steps, %u of %u drafts were right\n", steps, accepted, drafted);
  return text.substr(kPrompt.size(), kLength);
}

holdfast::Status run(holdfast::Cache& cache) {
  auto sequence = cache.create_sequence();
  HOLDFAST_TRY(sequence);
  auto const next = tiny::read(*sequence, kPrompt);
  HOLDFAST_TRY(next);
  auto const prompt = sequence->snapshot();  // no copy
  HOLDFAST_TRY(prompt);

  auto const plain = decode(*sequence, *next);
  HOLDFAST_TRY(plain);
  std::printf("plain:       %u steps\n", kLength);
  HOLDFAST_TRY(sequence->rollback(*prompt));
  auto const speculative = decode_speculatively(*sequence, *next);
  HOLDFAST_TRY(speculative);
  std::printf("\"%s\"\n", speculative->c_str());
  std::printf("the same text: %s\n", *plain == *speculative ? "yes" : "NO");
  return {};
}

}  // namespace

int main() {
  auto const device = holdfast::make_host_device();
  auto cache = holdfast::Cache::create(tiny::layout(), *device);
  holdfast::Status const status = cache ? run(*cache) : holdfast::Status{cache.error()};
  if (!status) {
    std::fprintf(stderr, "%s\n", holdfast::describe(status.error()).c_str());
  }
  return status ? 0 : 1;
}
