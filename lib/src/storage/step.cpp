// SPDX-License-Identifier: Apache-2.0
// The step kernel's host twin and its declared accesses.
#include "storage/step.hpp"

#include <algorithm>
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
  for (std::uint32_t i = 0; i < parameters.mirror_count; ++i) {
    sink.write(parameters.mirrors[i].mirror,
               offsetof(SequenceMirror, write_slot) +
                   parameters.mirrors[i].write_count * sizeof(std::uint32_t));
  }
  std::uint64_t rows = 0;
  for (std::uint32_t i = 0; i < parameters.run_count; ++i) {
    rows += parameters.runs[i].rows;
  }
  if (rows != 0) {
    sink.write(parameters.row_sequences, rows * sizeof(std::uint32_t));
  }
}

void update_mirror(MirrorUpdate const& update) noexcept {
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
  for (std::uint32_t i = 0; i < parameters.mirror_count; ++i) {
    update_mirror(parameters.mirrors[i]);
  }
  std::uint32_t* row = parameters.row_sequences;
  for (std::uint32_t i = 0; i < parameters.run_count; ++i) {
    row = std::fill_n(row, parameters.runs[i].rows, parameters.runs[i].sequence);
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

std::uint64_t StepWork::block_bytes(StepLimits const& limits) noexcept {
  return span_bytes<StripLayout>(limits.planes) + span_bytes<PageCopy>(limits.copies) +
         span_bytes<TablePatch>(limits.patches) + span_bytes<MirrorUpdate>(limits.mirrors) +
         span_bytes<RowRun>(limits.runs) + span_bytes<std::uint32_t>(limits.columns);
}

void StepWork::attach(std::byte* block,
                      StepLimits const& limits,
                      std::uint32_t* row_sequences) noexcept {
  limits_ = limits;
  strips_ = take_span<StripLayout>(block, limits.planes);
  copies_ = take_span<PageCopy>(block, limits.copies);
  patches_ = take_span<TablePatch>(block, limits.patches);
  mirrors_ = take_span<MirrorUpdate>(block, limits.mirrors);
  runs_ = take_span<RowRun>(block, limits.runs);
  columns_ = take_span<std::uint32_t>(block, limits.columns);
  parameters_.strips = strips_;
  parameters_.copies = copies_;
  parameters_.patches = patches_;
  parameters_.mirrors = mirrors_;
  parameters_.runs = runs_;
  parameters_.row_sequences = row_sequences;
}

}  // namespace holdfast::internal::storage
