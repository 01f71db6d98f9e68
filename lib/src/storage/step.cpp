// SPDX-License-Identifier: Apache-2.0
// The step kernel's host twin and its declared accesses.
#include "storage/step.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <numeric>

#include "base/mutants.hpp"

namespace holdfast::internal::storage {
namespace {

/// Calls `piece(destination, source, bytes)` for every contiguous piece of a page copy.
template <typename Piece>
void for_each_piece(StepParameters const& parameters, PageCopy const& copy, Piece piece) noexcept {
  StripLayout const& layout = parameters.strips[copy.plane];
  std::byte* const destination = layout.base + copy.destination * layout.page_bytes;
  std::byte const* const source = layout.base + copy.source * layout.page_bytes;
  for (std::uint32_t i = 0; i < layout.runs.count; ++i) {
    StripRun const& run = layout.runs.list[i];
    std::uint64_t const bytes = std::uint64_t{copy.rows} * run.row_bytes;
    std::uint64_t at = run.offset + std::uint64_t{copy.first_row} * run.row_bytes;
    for (std::uint32_t strip = 0; strip < run.strips; ++strip, at += run.stride) {
      piece(destination + at, source + at, bytes);
    }
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
  sink.read(parameters.copies, parameters.copy_count * sizeof(PageCopy));
  sink.read(parameters.patches, parameters.patch_count * sizeof(TablePatch));
  sink.read(parameters.mirrors, parameters.mirror_count * sizeof(MirrorUpdate));
  sink.read(parameters.runs, parameters.run_count * sizeof(RowRun));
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
    TablePatch const& patch = parameters.patches[i];
    sink.write(parameters.tables + patch.entry, patch.count * sizeof(std::uint32_t));
  }
  for (std::uint32_t i = 0; i < parameters.mirror_count; ++i) {
    MirrorUpdate const& update = parameters.mirrors[i];
    sink.read(parameters.columns + update.first_column, update.write_count * sizeof(std::uint32_t));
    sink.write(record_of(parameters, update.sequence),
               offsetof(SequenceMirror, write_slot) + update.write_count * sizeof(std::uint32_t));
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
  record.first_row = update.first_row;
  for (std::uint32_t column = 0; column < update.write_count; ++column) {
    record.write_slot[column] = parameters.columns[update.first_column + column];
  }
  if (HOLDFAST_MUTANT(kUndeclaredWrite)) {
    std::size_t const behind =
        offsetof(SequenceMirror, write_slot) + update.write_count * sizeof(std::uint32_t);
    if (behind < parameters.record_bytes) {
      record.write_slot[update.write_count] = 0;
    }
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
    TablePatch const& patch = parameters.patches[i];
    std::iota(
        parameters.tables + patch.entry, parameters.tables + patch.entry + patch.count, patch.page);
  }
  for (std::uint32_t i = 0; i < parameters.mirror_count; ++i) {
    update_mirror(parameters, parameters.mirrors[i]);
  }
  std::uint32_t* row = parameters.row_sequences;
  for (std::uint32_t i = 0; i < parameters.run_count; ++i) {
    row = std::fill_n(row, parameters.runs[i].rows, parameters.runs[i].sequence);
  }
}

/// Whether two copies touch the same rows of a page.
bool overlap(PageCopy const& one, PageCopy const& other) noexcept {
  return one.first_row < other.first_row + other.rows && other.first_row < one.first_row + one.rows;
}

template <typename T>
std::uint64_t span_bytes(std::uint32_t count) noexcept {
  constexpr std::uint64_t kAlignment = 16;
  return (std::uint64_t{count} * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename T>
T* take_span(std::byte*& block, std::uint32_t count) noexcept {
  HOLDFAST_ASSERT(block != nullptr);
  std::byte* const base = block;
  block += span_bytes<T>(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ::new (static_cast<void*>(base + i * sizeof(T))) T;  // written before it is read
  }
  return std::launder(reinterpret_cast<T*>(base));
}

}  // namespace

bool StripLayout::holds(std::uint64_t rows) const noexcept {
  bool holds = true;
  for (std::uint32_t i = 0; i < runs.count; ++i) {
    StripRun const& run = runs.list[i];
    std::uint64_t const bytes = rows * run.row_bytes;
    std::uint64_t const last = run.offset + (run.strips - 1) * run.stride;
    holds = holds && (run.strips == 1 || bytes <= run.stride) && last + bytes <= page_bytes;
  }
  return holds;
}

StripRuns runs_of(Strips const& strips, std::uint32_t layers) noexcept {
  // Strips of equal rows, a layer like the next, are one run.
  std::uint64_t const stride = strips.layer_bytes / std::max(1U, strips.count);
  bool is_even = true;
  for (std::uint32_t i = 0; i < strips.count; ++i) {
    is_even =
        is_even && strips[i].row_bytes == strips[0].row_bytes && strips[i].offset == i * stride;
  }
  if (is_even) {
    return {
        .count = 1,
        .list = {
            {.stride = stride, .strips = layers * strips.count, .row_bytes = strips[0].row_bytes}}};
  }
  StripRuns runs;
  for (Strip const& strip : strips) {
    runs.list[runs.count++] = {.offset = strip.offset,
                               .stride = strips.layer_bytes,
                               .strips = layers,
                               .row_bytes = strip.row_bytes};
  }
  return runs;
}

Kernel const kStepKernel{"holdfast.step", sizeof(StepParameters), &declare_accesses, &run_on_host};

std::uint64_t StepWork::block_bytes(StepLimits const& limits) noexcept {
  std::uint64_t const slot =
      span_bytes<PageCopy>(limits.copies) + span_bytes<TablePatch>(limits.patches) +
      span_bytes<MirrorUpdate>(limits.mirrors) + span_bytes<RowRun>(limits.runs) +
      span_bytes<std::uint32_t>(limits.columns);
  return span_bytes<StripLayout>(limits.planes) + (kParameterSlots + 1) * slot;
}

bool StepWork::create(StepLimits const& limits, std::uint32_t ranks) noexcept {
  HOLDFAST_ASSERT(ranks != 0);
  HOLDFAST_ASSERT(limits.planes != 0);
  HOLDFAST_ASSERT(limits.mirrors != 0);
  limits_ = limits;
  return parts_.create(ranks);
}

void StepWork::attach(std::uint32_t rank,
                      Device& device,
                      std::byte* block,
                      StepPlaces const& places) noexcept {
  HOLDFAST_ASSERT(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t) == 0);
  [[maybe_unused]] std::byte const* const first = block;
  Part& part = parts_[rank];
  part.device = &device;
  part.places = places;
  part.strips = take_span<StripLayout>(block, limits_.planes);
  for (Lists& lists : part.slots) {
    lists.copies = take_span<PageCopy>(block, limits_.copies);
    lists.patches = take_span<TablePatch>(block, limits_.patches);
    lists.mirrors = take_span<MirrorUpdate>(block, limits_.mirrors);
    lists.runs = take_span<RowRun>(block, limits_.runs);
    lists.columns = take_span<std::uint32_t>(block, limits_.columns);
  }
  HOLDFAST_ASSERT(static_cast<std::uint64_t>(block - first) == block_bytes(limits_));
}

StepParameters StepWork::parameters_of(Part const& part) const noexcept {
  HOLDFAST_ASSERT(slot_ < kParameterSlots);
  Lists const& lists = part.slots[slot_];
  return {.strips = part.strips,
          .copies = lists.copies,
          .patches = lists.patches,
          .mirrors = lists.mirrors,
          .runs = lists.runs,
          .columns = lists.columns,
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

bool StepWork::has_no_order() const noexcept {
  for (std::uint32_t i = 0; i < copy_count_; ++i) {
    PageCopy const& one = lists_.copies[i];
    for (std::uint32_t j = 0; j < copy_count_; ++j) {
      PageCopy const& other = lists_.copies[j];
      bool const is_same = one.plane == other.plane && overlap(one, other);
      if (is_same &&
          ((i < j && one.destination == other.destination) || one.destination == other.source)) {
        return false;
      }
    }
  }
  for (std::uint32_t i = 0; i < patch_count_; ++i) {
    TablePatch const& one = lists_.patches[i];
    for (std::uint32_t j = 0; j < i; ++j) {
      TablePatch const& other = lists_.patches[j];
      if (one.entry < other.entry + other.count && other.entry < one.entry + one.count) {
        return false;
      }
    }
  }
  for (std::uint32_t i = 0; i < mirror_count_; ++i) {
    for (std::uint32_t j = 0; j < i; ++j) {
      if (lists_.mirrors[i].sequence == lists_.mirrors[j].sequence) {
        return false;
      }
    }
  }
  return true;
}

bool StepWork::is_in_bounds() const noexcept {
  for (std::uint32_t i = 0; i < copy_count_; ++i) {
    PageCopy const& copy = lists_.copies[i];
    HOLDFAST_ASSERT(copy.plane < limits_.planes);
    StripLayout const& layout = parts_[0].strips[copy.plane];
    std::uint64_t const end = std::uint64_t{copy.first_row} + copy.rows;
    if (!layout.holds(end)) {
      return false;
    }
  }
  for (std::uint32_t i = 0; i < mirror_count_; ++i) {
    MirrorUpdate const& update = lists_.mirrors[i];
    if (update.first_column + update.write_count > column_count_) {
      return false;
    }
  }
  return true;
}

Status StepWork::launch(Stream stream) noexcept {
  HOLDFAST_ASSERT(copy_count_ <= limits_.copies);
  HOLDFAST_ASSERT(patch_count_ <= limits_.patches);
  HOLDFAST_ASSERT(mirror_count_ <= limits_.mirrors);
  HOLDFAST_ASSERT(run_count_ <= limits_.runs);
  HOLDFAST_VERIFY_THAT(has_no_order());
  HOLDFAST_VERIFY_THAT(is_in_bounds());
  Status answer;
  for (std::uint32_t rank = 0; rank < parts_.size(); ++rank) {
    Part const& part = parts_[rank];
    if (rank != 0) {
      Lists const& from = parts_[0].slots[slot_];
      Lists const& to = part.slots[slot_];
      HOLDFAST_ASSERT(from.copies != to.copies);
      std::copy_n(from.copies, copy_count_, to.copies);
      if (HOLDFAST_MUTANT(kRankTablesStale)) {
        std::fill_n(to.patches, patch_count_, TablePatch{});  // of no entries
      } else {
        std::copy_n(from.patches, patch_count_, to.patches);
      }
      std::copy_n(from.mirrors, mirror_count_, to.mirrors);
      std::copy_n(from.runs, run_count_, to.runs);
      std::copy_n(from.columns, column_count_, to.columns);
      for (std::uint32_t i = 0; i < mirror_count_ && HOLDFAST_MUTANT(kRankLengthStale); ++i) {
        to.mirrors[i].committed -= to.mirrors[i].committed % 2;
      }
    }
    if (rank != 0 && HOLDFAST_MUTANT(kRankNotTold)) {
      continue;
    }
    StepParameters const parameters = parameters_of(part);
    Status const launched = part.device->launch(kStepKernel, &parameters, stream);
    if (rank != 0 && HOLDFAST_MUTANT(kFirstRankDecides)) {
      continue;
    }
    if ((!launched && answer) || HOLDFAST_MUTANT(kLastRankDecides)) {
      answer = launched ? Status{} : launched.error();
    }
  }
  advance(stream);
  return answer;
}

void StepWork::advance(Stream stream) noexcept {
  constexpr std::uint32_t kHalf = kParameterSlots / 2;
  HOLDFAST_ASSERT(slot_ < kParameterSlots);
  used_[slot_] = stream;
  slot_ = (slot_ + 1) % kParameterSlots;
  if (slot_ % kHalf != 0 || HOLDFAST_MUTANT(kParametersReusedEarly)) {
    return;
  }
  // One event for each stream of the half that is full now, after its last launch there.
  std::uint32_t const full = slot_ == 0 ? kHalf : 0;
  Stream const* const used = used_.data();
  Stream const* const end = used + full + kHalf;
  for (Part& part : parts_.span(0, parts_.size())) {
    for (std::uint32_t slot = full; slot < full + kHalf; ++slot) {
      if (std::find(used + slot + 1, end, used[slot]) != end) {
        continue;  // what follows there is later
      }
      // The launch is enqueued: that its end cannot be noted is no failure of the call.
      auto const event = part.device->record(used[slot]);
      part.waits[slot] = event                                      ? SlotWait::kEvent
                         : HOLDFAST_MUTANT(kSlotReusedAfterFailure) ? SlotWait::kNothing
                                                                    : SlotWait::kStream;
      part.done[slot] = event ? *event : Event{};
    }
  }
}

Status StepWork::wait_for_half() noexcept {
  constexpr std::uint32_t kHalf = kParameterSlots / 2;
  HOLDFAST_ASSERT(slot_ < kParameterSlots);
  if (slot_ % kHalf != 0) {
    return {};
  }
  for (Part& part : parts_.span(0, parts_.size())) {
    for (std::uint32_t slot = slot_; slot < slot_ + kHalf; ++slot) {
      if (part.waits[slot] == SlotWait::kEvent) {
        HOLDFAST_TRY(part.device->await(part.done[slot]));
      } else if (part.waits[slot] == SlotWait::kStream) {
        HOLDFAST_TRY(part.device->synchronize(used_[slot]));
      }
      bool const waited = part.waits[slot] != SlotWait::kNothing;
      part.waits[slot] = SlotWait::kNothing;
      if (waited && HOLDFAST_MUTANT(kHalfWaitsForOne)) {
        break;
      }
    }
  }
  return {};
}

}  // namespace holdfast::internal::storage
