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

std::byte* zeroed(StepParameters const& parameters) noexcept {
  StripLayout const& layout = parameters.strips[parameters.zero_plane];
  return layout.base + parameters.zero_page * layout.page_bytes;
}

SequenceMirror* record_of(StepParameters const& parameters, std::uint32_t sequence) noexcept {
  return reinterpret_cast<SequenceMirror*>(parameters.records + sequence * parameters.record_bytes);
}

void declare_accesses(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<StepParameters const*>(raw);
  if (parameters.zero_page != 0) {
    sink.write(zeroed(parameters), parameters.strips[parameters.zero_plane].page_bytes);
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
    sink.write(parameters.tables + parameters.patches[i].entry, sizeof(std::uint32_t));
  }
  for (std::uint32_t i = 0; i < parameters.mirror_count; ++i) {
    sink.write(record_of(parameters, parameters.mirrors[i].sequence),
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

void update_mirror(StepParameters const& parameters, MirrorUpdate const& update) noexcept {
  SequenceMirror& record = *record_of(parameters, update.sequence);
  if (!HOLDFAST_MUTANT(kMirrorLengthStale)) {
    record.committed = update.committed;
  }
  record.open = update.open;
  record.generation = update.generation;
  record.read_slot = update.read_slot;
  for (std::uint32_t column = 0; column < update.write_count; ++column) {
    record.write_slot[column] = parameters.columns[update.first_column + column];
  }
}

void run_on_host(void const* raw) noexcept {
  auto const& parameters = *static_cast<StepParameters const*>(raw);
  if (parameters.zero_page != 0) {
    std::memset(zeroed(parameters), 0, parameters.strips[parameters.zero_plane].page_bytes);
  }
  for (std::uint32_t i = 0; i < parameters.copy_count; ++i) {
    for_each_piece(parameters,
                   parameters.copies[i],
                   [](std::byte* destination, std::byte const* source, std::uint64_t bytes) {
                     std::memcpy(destination, source, bytes);
                   });
  }
  for (std::uint32_t i = 0; i < parameters.patch_count; ++i) {
    parameters.tables[parameters.patches[i].entry] = parameters.patches[i].page;
  }
  for (std::uint32_t i = 0; i < parameters.mirror_count; ++i) {
    update_mirror(parameters, parameters.mirrors[i]);
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
         span_bytes<RowRun>(limits.runs) + span_bytes<std::uint32_t>(limits.columns) +
         span_bytes<CopySegment>(limits.flat_copies);
}

bool StepWork::create(StepLimits const& limits, std::uint32_t ranks) noexcept {
  limits_ = limits;
  return parts_.create(ranks) && flat_copies_.create(limits.flat_copies);
}

void StepWork::attach(std::uint32_t rank,
                      Device& device,
                      std::byte* block,
                      StepPlaces const& places) noexcept {
  Part& part = parts_[rank];
  part.device = &device;
  part.places = places;
  part.strips = take_span<StripLayout>(block, limits_.planes);
  part.copies = take_span<PageCopy>(block, limits_.copies);
  part.patches = take_span<TablePatch>(block, limits_.patches);
  part.mirrors = take_span<MirrorUpdate>(block, limits_.mirrors);
  part.runs = take_span<RowRun>(block, limits_.runs);
  part.columns = take_span<std::uint32_t>(block, limits_.columns);
  part.segments = take_span<CopySegment>(block, limits_.flat_copies);
}

StepParameters StepWork::parameters_of(Part const& part) const noexcept {
  return {.strips = part.strips,
          .copies = part.copies,
          .patches = part.patches,
          .mirrors = part.mirrors,
          .runs = part.runs,
          .columns = part.columns,
          .records = part.places.records,
          .tables = part.places.tables,
          .row_sequences = part.places.row_sequences,
          .record_bytes = part.places.record_bytes,
          .copy_count = copy_count_,
          .patch_count = patch_count_,
          .mirror_count = mirror_count_,
          .run_count = run_count_,
          .zero_plane = zero_plane_,
          .zero_page = zero_page_};
}

Status StepWork::copy_flat_on(Part const& part, Stream stream) const noexcept {
  for (std::uint32_t i = 0; i < flat_copy_count_; ++i) {
    FlatCopy const& copy = flat_copies_[i];
    StripLayout const& layout = part.strips[copy.plane];
    part.segments[i] = {.destination = layout.base + copy.destination * layout.page_bytes,
                        .source = layout.base + copy.source * layout.page_bytes,
                        .bytes = copy.bytes};
  }
  return flat_copy_count_ == 0 ? Status{}
                               : part.device->copy({part.segments, flat_copy_count_}, stream);
}

Status StepWork::launch(Stream stream) noexcept {
  Status answer;
  for (std::uint32_t rank = 0; rank < parts_.size(); ++rank) {
    Part const& part = parts_[rank];
    if (rank != 0) {
      Part const& from = parts_[0];
      std::copy_n(from.copies, copy_count_, part.copies);
      if (!HOLDFAST_MUTANT(kRankTablesStale)) {
        std::copy_n(from.patches, patch_count_, part.patches);
      }
      std::copy_n(from.mirrors, mirror_count_, part.mirrors);
      std::copy_n(from.runs, run_count_, part.runs);
      std::copy_n(from.columns, column_count_, part.columns);
    }
    if (rank != 0 && HOLDFAST_MUTANT(kRankNotTold)) {
      continue;
    }
    for (std::uint32_t i = 0; rank != 0 && i < mirror_count_ && HOLDFAST_MUTANT(kRankLengthStale);
         ++i) {
      part.mirrors[i].committed -= part.mirrors[i].committed % 2;
    }
    if (Status const copied = copy_flat_on(part, stream); !copied && answer) {
      answer = copied.error();
    }
    StepParameters const parameters = parameters_of(part);
    if (Status const launched = part.device->launch(kStepKernel, &parameters, stream);
        !launched && answer) {
      answer = launched.error();
    }
  }
  return answer;
}

}  // namespace holdfast::internal::storage
