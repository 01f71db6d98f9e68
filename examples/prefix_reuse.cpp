// SPDX-License-Identifier: Apache-2.0
// Prefix reuse: the state after a long system prompt is published under its tokens. Later requests
// start from it, in this process or, as bytes, in another one.
#include <cstdio>

#include "examples/tiny_model.hpp"

namespace {

using holdfast::Cache;

constexpr std::string_view kSystem =
    "Questions and answers. Sky? It is blue. Grass? It is green. Snow? It is white. ";
constexpr holdfast::PrefixScope kScope{.model = 1};
constexpr std::uint32_t kLength = 12;  // characters of an answer

std::vector<holdfast::TokenKey> tokens_of(std::string_view text) {
  return {text.begin(), text.end()};
}

/// Answers a question, starting from the longest prefix that is there.
holdfast::Status answer(Cache& cache, char const* where, std::string_view question) {
  std::string const prompt = std::string{kSystem} + std::string{question};
  std::vector<holdfast::TokenKey> const tokens = tokens_of(prompt);
  holdfast::Sequence sequence;
  std::uint32_t known = 0;
  // One token is left to compute at least: somebody has to say what comes next.
  auto restored = cache.restore(kScope, tokens, static_cast<std::uint32_t>(tokens.size()) - 1);
  if (restored) {
    sequence = std::move(restored->sequence);
    known = restored->length;
  } else if (restored.error().code == holdfast::ErrorCode::kMiss) {
    auto fresh = cache.create_sequence();
    HOLDFAST_TRY(fresh);
    sequence = std::move(*fresh);
  } else {
    return restored.error();
  }
  auto next = tiny::read(sequence, std::string_view{prompt}.substr(known));
  HOLDFAST_TRY(next);
  std::string said;
  while (said.size() < kLength && *next != '.') {
    said += *next;
    next = tiny::read(sequence, std::string_view{&said.back(), 1});
    HOLDFAST_TRY(next);
  }
  std::printf("%-10s %2u of %zu tokens were there: %.*s%s\n",
              where,
              known,
              prompt.size(),
              static_cast<int>(question.size()),
              question.data(),
              said.c_str());
  return {};
}

holdfast::Status run(Cache& first, Cache& second) {
  HOLDFAST_TRY(answer(first, "cold:", "Grass?"));

  // Publish what follows the system prompt. It moves no row; the entry outlives the sequence.
  auto sequence = first.create_sequence();
  HOLDFAST_TRY(sequence);
  HOLDFAST_TRY(tiny::read(*sequence, kSystem));
  auto const snapshot = sequence->snapshot();
  HOLDFAST_TRY(snapshot);
  auto const entry = first.capture(kScope, *snapshot, tokens_of(kSystem));
  HOLDFAST_TRY(entry);
  HOLDFAST_TRY(sequence->release());
  HOLDFAST_TRY(answer(first, "reused:", "Grass?"));
  HOLDFAST_TRY(answer(first, "reused:", "Snow?"));

  // The same in another cache, which might be another machine.
  auto const size = first.entry_bytes(*entry);
  HOLDFAST_TRY(size);
  std::vector<std::byte> bytes(size->total);
  HOLDFAST_TRY(first.serialize(*entry, bytes));
  HOLDFAST_TRY(second.deserialize(kScope, bytes));
  HOLDFAST_TRY(answer(second, "elsewhere:", "Snow?"));
  return {};
}

}  // namespace

int main() {
  auto const device = holdfast::make_host_device();
  auto first = Cache::create(tiny::layout(), *device);
  auto second = Cache::create(tiny::layout(), *device);
  holdfast::Status const status = !first    ? holdfast::Status{first.error()}
                                  : !second ? holdfast::Status{second.error()}
                                            : run(*first, *second);
  if (!status) {
    std::fprintf(stderr, "%s\n", holdfast::describe(status.error()).c_str());
  }
  return status ? 0 : 1;
}
