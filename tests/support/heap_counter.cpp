// SPDX-License-Identifier: Apache-2.0
// The hooks; linked only into programs that count.
#include "tests/support/heap_counter.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

// Atomic because a compiler knows that malloc() changes no variable of the program.
std::atomic<std::uint64_t> allocations = 0;  // NOLINT: the hooks have no other place for it

}  // namespace

namespace holdfast::test {

std::uint64_t heap_allocations() noexcept {
  return allocations;
}

}  // namespace holdfast::test

// The linker sends every call of the malloc family here, the library's included.
extern "C" {
// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): the linker's names
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_realloc(void* base, std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __wrap_malloc(std::size_t bytes) {
  ++allocations;
  return __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __real_calloc(count, bytes);
}
void* __wrap_realloc(void* base, std::size_t bytes) {
  ++allocations;
  return __real_realloc(base, bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++allocations;
  return __real_aligned_alloc(alignment, bytes);
}
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)
}

// These count through malloc.
void* operator new(std::size_t bytes) {
  if (void* const base = std::malloc(bytes); base != nullptr) {
    return base;
  }
  throw std::bad_alloc{};
}
void* operator new(std::size_t bytes, std::nothrow_t const& /*tag*/) noexcept {
  return std::malloc(bytes);
}
void* operator new[](std::size_t bytes) {
  return ::operator new(bytes);
}
void operator delete(void* base) noexcept {
  std::free(base);
}
void operator delete(void* base, std::size_t /*bytes*/) noexcept {
  std::free(base);
}
void operator delete(void* base, std::nothrow_t const& /*tag*/) noexcept {
  std::free(base);
}
void operator delete[](void* base) noexcept {
  std::free(base);
}
void operator delete[](void* base, std::size_t /*bytes*/) noexcept {
  std::free(base);
}
