// SPDX-License-Identifier: Apache-2.0
// The harness's definition of the library's one hook.
#include "fuzz/contract.hpp"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <holdfast/result.hpp>

namespace {

/// Where to go on when a contract breaks on this thread.
struct Escape {
  std::jmp_buf buffer;
  char const* condition = nullptr;
  char const* file = nullptr;
  int line = 0;
};

thread_local Escape* current_escape = nullptr;

}  // namespace

namespace holdfast {

void contract_failed(char const* condition, char const* file, int line) {
  if (current_escape == nullptr) {
    std::fprintf(stderr, "holdfast: contract broken at %s:%d: %s\n", file, line, condition);
    std::abort();
  }
  current_escape->condition = condition;
  current_escape->file = file;
  current_escape->line = line;
  // The library's frames in between have nothing to unwind: it is built without exceptions.
  std::longjmp(current_escape->buffer,
               1);  // NOLINT(cert-err52-cpp): no frame in between owns anything
}

}  // namespace holdfast

namespace holdfast::fuzz {

std::string run_with_contract(std::function<void()> const& body) {
  Escape escape;
  Escape* const outer = current_escape;
  current_escape = &escape;
  if (setjmp(escape.buffer) == 0) {  // NOLINT(cert-err52-cpp): see contract_failed
    try {
      body();
    } catch (...) {
      current_escape = outer;
      throw;
    }
    current_escape = outer;
    return {};
  }
  current_escape = outer;
  std::string file = escape.file;
  file = file.substr(file.rfind("lib/") == std::string::npos ? 0 : file.rfind("lib/"));
  return std::string{"contract broken at "} + file + ":" + std::to_string(escape.line) + ": " +
         escape.condition;
}

}  // namespace holdfast::fuzz
