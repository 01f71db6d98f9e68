// SPDX-License-Identifier: Apache-2.0
#include "models/recorder/poison.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace holdfast::model {
namespace {

constexpr std::uint64_t kFileBytes = std::uint64_t{16} << 20U;

/// A file in memory that holds nothing but poison; -1 where the system has none.
int make_file() noexcept {
  int const file = memfd_create("holdfast-poison", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, kFileBytes) != 0) {
    return -1;
  }
  void* const base = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) {
    return -1;
  }
  std::memset(base, kPoisonByte, kFileBytes);
  munmap(base, kFileBytes);
  return file;
}

/// Maps whole pages from `base` on; returns how many bytes it mapped.
std::uint64_t map_poison(std::byte* base, std::uint64_t bytes) noexcept {
  static int const file = make_file();
  std::uint64_t mapped = 0;
  while (file >= 0 && mapped < bytes) {
    std::uint64_t const piece = std::min(bytes - mapped, kFileBytes);
    if (mmap(base + mapped,
             piece,
             PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
             file,
             0) == MAP_FAILED) {
      break;
    }
    mapped += piece;
  }
  return mapped;
}

}  // namespace

void fill_with_poison(std::byte* base, std::uint64_t bytes) noexcept {
  std::uint64_t head = bytes;  // filled; then what is mapped; then what is filled again
  std::uint64_t mapped = 0;
  if (bytes >= kMappedPoisonBytes) {
    auto const page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    head = (page - reinterpret_cast<std::uintptr_t>(base) % page) % page;
    mapped = map_poison(base + head, (bytes - head) / page * page);
  }
  std::memset(base, kPoisonByte, head);
  std::memset(base + head + mapped, kPoisonByte, bytes - head - mapped);
}

}  // namespace holdfast::model
