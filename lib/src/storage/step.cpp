// SPDX-License-Identifier: Apache-2.0
// The step kernel's host twin and its declared accesses.
#include "storage/step.hpp"

#include <cstring>
#include <new>

#include "base/mutants.hpp"

namespace holdfast::internal::storage {
namespace {

/// Calls `piece(destination, source, bytes)` for every contiguous piece of a page copy.
template <typename Piece>
void for_each_piece(StepParameters const& parameters, PageCopy const& copy, Piece piece) noexcept {
  StripLayout const& layout = parameters.strips[copy.plane];
  std::uint64_t const offset = std::uint64_t{copy.first_row} * layout.row_bytes;
  std::uint64_t const bytes = std::uint64_t{copy.rows} * layout.row_bytes;
  std::byte* const destination = layout.base + copy.destination * layout.page_bytes + offset;
  std::byte const* const source = layout.base + copy.source * layout.page_bytes + offset;
  for (std::uint32_t strip = 0; strip < layout.strips; ++strip) {
    piece(destination + strip * layout.strip_bytes, source + strip * layout.strip_bytes, bytes);
  }
}

void declare_accesses(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<StepParameters const*>(raw);
  if (parameters.zero != nullptr) {
    sink.write(parameters.zero, parameters.zero_bytes);
  }
  for (std::uint32_t i = 0; i < parameters.copy_count; ++i) {
    for_each_piece(parameters,
                   parameters.copies[i],
                   [&](std::byte* destination, std::byte const* source, std::uint64_t bytes) {
                     sink.read(source, bytes);
                     sink.write(destination, bytes);
                   });
  }
  for (std::uint32_t i = 0; i < parameters.patch_count; ++i) {
    sink.write(parameters.patches[i].entry, sizeof(std::uint32_t));
  }
  if (parameters.mirror.mirror != nullptr) {
    sink.write(parameters.mirror.mirror,
               offsetof(SequenceMirror, write_slot) +
                   parameters.mirror.write_count * sizeof(std::uint32_t));
  }
}

void run_on_host(void const* raw) noexcept {
  auto const& parameters = *static_cast<StepParameters const*>(raw);
  if (parameters.zero != nullptr) {
    std::memset(parameters.zero, 0, parameters.zero_bytes);
  }
  for (std::uint32_t i = 0; i < parameters.copy_count; ++i) {
    for_each_piece(parameters,
                   parameters.copies[i],
                   [](std::byte* destination, std::byte const* source, std::uint64_t bytes) {
                     std::memcpy(destination, source, bytes);
                   });
  }
  for (std::uint32_t i = 0; i < parameters.patch_count; ++i) {
    *parameters.patches[i].entry = parameters.patches[i].page;
  }
  MirrorUpdate const& update = parameters.mirror;
  if (update.mirror == nullptr) {
    return;
  }
  if (!HOLDFAST_MUTANT(kMirrorLengthStale)) {
    update.mirror->committed = update.committed;
  }
  update.mirror->open = update.open;
  update.mirror->generation = update.generation;
  update.mirror->read_slot = update.read_slot;
  for (std::uint32_t column = 0; column < update.write_count; ++column) {
    update.mirror->write_slot[column] = update.write_slots[column];
  }
}

template <typename T>
std::uint64_t span_bytes(std::uint32_t count) noexcept {
  constexpr std::uint64_t kAlignment = 16;
  return (std::uint64_t{count} * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename T>
T* take_span(std::byte*& block, std::uint32_t count) noexcept {
  std::byte* const base = block;
  block += span_bytes<T>(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ::new (static_cast<void*>(base + i * sizeof(T))) T{};
  }
  return std::launder(reinterpret_cast<T*>(base));
}

}  // namespace

Kernel const kStepKernel{"holdfast.step", sizeof(StepParameters), &declare_accesses, &run_on_host};

std::uint64_t Step::block_bytes(std::uint32_t planes,
                                std::uint32_t copies,
                                std::uint32_t patches,
                                std::uint32_t columns) noexcept {
  return span_bytes<StripLayout>(planes) + span_bytes<PageCopy>(copies) +
         span_bytes<TablePatch>(patches) + span_bytes<std::uint32_t>(columns);
}

void Step::attach(std::byte* block,
                  std::uint32_t planes,
                  std::uint32_t copies,
                  std::uint32_t patches,
                  std::uint32_t columns) noexcept {
  strips_ = take_span<StripLayout>(block, planes);
  copies_ = take_span<PageCopy>(block, copies);
  patches_ = take_span<TablePatch>(block, patches);
  columns_ = take_span<std::uint32_t>(block, columns);
  copy_limit_ = copies;
  patch_limit_ = patches;
  column_limit_ = columns;
  parameters_.strips = strips_;
  parameters_.copies = copies_;
  parameters_.patches = patches_;
  parameters_.mirror.write_slots = columns_;
}

}  // namespace holdfast::internal::storage
