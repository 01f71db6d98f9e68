// SPDX-License-Identifier: Apache-2.0
// The read-only window: every index is checked, so that broken state can be looked at, too.
#include <algorithm>
#include <holdfast/formats.hpp>
#include <holdfast/inspect.hpp>

#include "cache/core.hpp"

namespace holdfast {
namespace {

using internal::cache::Core;
using internal::cache::OpenKind;
using internal::cache::SequenceRecord;

bool has_plane(Core const* core, std::uint32_t plane) noexcept {
  return core != nullptr && core->is_open() && plane < core->plan().class_count;
}

bool has_holder(Core const* core, Holder holder) noexcept {
  if (core == nullptr || !core->is_open()) {
    return false;
  }
  return holder.kind == HolderKind::kSequence
             ? holder.index < core->plan().sequence_limit && core->sequence(holder.index).live
             : holder.index < core->plan().snapshot_limit &&
                   core->snapshot_record(holder.index).live;
}

/// The page table of a plane, when it is made of chunks.
internal::storage::PagedTable const* table_of(Core const* core, std::uint32_t plane) noexcept {
  if (!has_plane(core, plane)) {
    return nullptr;
  }
  return std::visit([](auto const& held) { return held.chunk_table(); }, core->plane(plane));
}

Error no_such(char const* what) noexcept {
  return Error{.code = ErrorCode::kInvalidArgument, .text = "does not exist", .subject = what};
}

}  // namespace

std::uint32_t Inspection::plane_count() const noexcept {
  return core_ == nullptr || !core_->is_open() ? 0 : core_->plan().class_count;
}

PlaneInfo Inspection::plane(std::uint32_t plane) const noexcept {
  if (!has_plane(core_, plane)) {
    return {};
  }
  internal::storage::Plan const& plan = core_->plan();
  internal::storage::ClassPlan const& known = plan.classes[plane];
  return {.kind = known.kind,
          .name = name_of(known.kind),
          .layers = plan.layers_of(known),
          .unit_tokens = known.unit_tokens,
          .row_elements = known.row_elements,
          .strips = known.strips,
          .page_rows = known.page_rows,
          .window_rows = known.window_rows,
          .ring_rows = known.ring_rows,
          .chunk_pages = table_of(core_, plane) != nullptr ? plan.chunk_pages : 0,
          .entries = known.entries,
          .page_bytes = known.page_bytes,
          .pages = known.pages,
          .base = base(plane, 0),
          .stage = known.stage,
          .split = known.split};
}

std::span<StateInfo const> Inspection::states() const noexcept {
  return plane_count() == 0 ? std::span<StateInfo const>{}
                            : core_->plan().states.span(0, core_->plan().state_count);
}

std::uint32_t Inspection::sequence_limit() const noexcept {
  return plane_count() == 0 ? 0 : core_->plan().sequence_limit;
}

std::uint32_t Inspection::snapshot_limit() const noexcept {
  return plane_count() == 0 ? 0 : core_->plan().snapshot_limit;
}

std::uint32_t Inspection::first_entry() const noexcept {
  return plane_count() == 0 ? 0 : core_->plan().first_entry;
}

SequenceInfo Inspection::sequence(std::uint32_t index) const noexcept {
  if (index >= sequence_limit()) {
    return {};
  }
  SequenceRecord const& record = core_->sequence(index);
  return {.live = record.live,
          .tainted = record.tainted,
          .open = record.open != OpenKind::kNone,
          .round = record.open == OpenKind::kRound,
          .generation = record.generation,
          .position = record.position,
          .open_rows = record.rows,
          .changes = record.changes};
}

SnapshotInfo Inspection::snapshot(std::uint32_t index) const noexcept {
  if (index >= snapshot_limit()) {
    return {};
  }
  auto const& record = core_->snapshot_record(index);
  return {.live = record.live, .generation = record.generation, .position = record.position};
}

PlaneState Inspection::state(Holder holder, std::uint32_t plane) const noexcept {
  if (!has_plane(core_, plane) || !has_holder(core_, holder)) {
    return {};
  }
  return std::visit([&](auto const& held) { return held.state(holder); }, core_->plane(plane));
}

void Inspection::plane_states(Holder holder, std::span<PlaneState> out) const noexcept {
  bool const is_there = has_holder(core_, holder);
  for (std::uint32_t plane = 0; plane < out.size(); ++plane) {
    out[plane] =
        is_there && has_plane(core_, plane)
            ? std::visit([&](auto const& held) { return held.state(holder); }, core_->plane(plane))
            : PlaneState{};
  }
}

std::uint32_t Inspection::page(Holder holder,
                               std::uint32_t plane,
                               std::uint32_t entry) const noexcept {
  if (!has_plane(core_, plane) || !has_holder(core_, holder)) {
    return 0;
  }
  return std::visit([&](auto const& held) { return held.page_at(holder, entry); },
                    core_->plane(plane));
}

void Inspection::pages(Holder holder,
                       std::uint32_t plane,
                       std::uint32_t first,
                       std::span<std::uint32_t> out) const noexcept {
  if (!has_plane(core_, plane) || !has_holder(core_, holder)) {
    std::fill(out.begin(), out.end(), 0);
    return;
  }
  std::visit(
      [&](auto const& held) {
        for (std::size_t i = 0; i < out.size(); ++i) {
          std::uint64_t const entry = first + std::uint64_t{i};
          out[i] =
              entry <= UINT32_MAX ? held.page_at(holder, static_cast<std::uint32_t>(entry)) : 0;
        }
      },
      core_->plane(plane));
}

std::uint32_t Inspection::chunk(Holder holder,
                                std::uint32_t plane,
                                std::uint32_t chunk) const noexcept {
  auto const* const table = table_of(core_, plane);
  if (table == nullptr || !has_holder(core_, holder) || chunk >= table->chunk_count(holder)) {
    return 0;
  }
  return table->chunk_at(holder, chunk);
}

std::span<std::uint32_t const> Inspection::chunk_pages(std::uint32_t plane,
                                                       std::uint32_t chunk) const noexcept {
  return chunk >= chunk_limit(plane) ? std::span<std::uint32_t const>{}
                                     : table_of(core_, plane)->chunks().pages(chunk);
}

std::uint32_t Inspection::chunk_references(std::uint32_t plane,
                                           std::uint32_t chunk) const noexcept {
  return chunk >= chunk_limit(plane) ? 0 : table_of(core_, plane)->chunks().references(chunk);
}

std::uint32_t Inspection::chunk_limit(std::uint32_t plane) const noexcept {
  auto const* const table = table_of(core_, plane);
  return table == nullptr ? 0 : table->chunks().count();
}

std::uint32_t Inspection::chunks_free(std::uint32_t plane) const noexcept {
  auto const* const table = table_of(core_, plane);
  return table == nullptr ? 0 : table->chunks().free_count();
}

std::uint32_t Inspection::page_references(std::uint32_t plane, std::uint32_t page) const noexcept {
  if (!has_plane(core_, plane) || page >= core_->plan().classes[plane].pages) {
    return 0;
  }
  return std::visit([&](auto const& held) { return held.arena().references(page); },
                    core_->plane(plane));
}

std::uint64_t Inspection::page_writer(std::uint32_t plane, std::uint32_t page) const noexcept {
  if (!has_plane(core_, plane) || page >= core_->plan().classes[plane].pages) {
    return 0;
  }
  return std::visit([&](auto const& held) { return held.arena().writer(page); },
                    core_->plane(plane));
}

std::uint32_t Inspection::pages_free(std::uint32_t plane) const noexcept {
  if (!has_plane(core_, plane)) {
    return 0;
  }
  return std::visit([](auto const& held) { return held.arena().free_count(); },
                    core_->plane(plane));
}

std::span<std::uint32_t const> Inspection::free_pages(std::uint32_t plane) const noexcept {
  if (!has_plane(core_, plane)) {
    return {};
  }
  return std::visit([](auto const& held) { return held.arena().free_pages(); },
                    core_->plane(plane));
}

std::uint64_t Inspection::storage_changes(std::uint32_t plane) const noexcept {
  if (!has_plane(core_, plane)) {
    return 0;
  }
  std::uint64_t const changes =
      std::visit([](auto const& held) { return held.arena().changes(); }, core_->plane(plane));
  auto const* const table = table_of(core_, plane);
  return changes + (table == nullptr ? 0 : table->chunks().changes());
}

std::span<std::uint32_t const> Inspection::open_pages(std::uint32_t sequence,
                                                      std::uint32_t plane) const noexcept {
  if (!has_plane(core_, plane) || sequence >= sequence_limit()) {
    return {};
  }
  return std::visit([&](auto const& held) { return held.open_pages(sequence); },
                    core_->plane(plane));
}

namespace {

/// Where the first strip of a row lies on rank 0; nullptr without a page. `held` has rows, and the holder lives.
template <typename Plane>
std::byte const* address_in(Plane const& held,
                            internal::storage::ClassPlan const& known,
                            Holder holder,
                            std::uint32_t layer_index,
                            std::uint32_t row) noexcept {
  std::uint32_t const physical = known.ring_rows == 0 ? row : row % known.ring_rows;
  std::uint32_t const page = held.page_at(holder, physical / known.page_rows);
  return page == 0 ? nullptr
                   : held.arena().address(page) + known.layer_offset(layer_index) +
                         std::uint64_t{physical % known.page_rows} * known.strips[0].row_bytes;
}

bool has_rows(Core const* core,
              Holder holder,
              std::uint32_t plane,
              std::uint32_t layer_index) noexcept {
  return has_plane(core, plane) && has_holder(core, holder) &&
         core->plan().classes[plane].page_rows != 0 &&
         layer_index < core->plan().classes[plane].layer_count;
}

}  // namespace

std::byte const* Inspection::row_address(Holder holder,
                                         std::uint32_t plane,
                                         std::uint32_t layer_index,
                                         std::uint32_t row) const noexcept {
  if (!has_rows(core_, holder, plane, layer_index)) {
    return nullptr;
  }
  return std::visit(
      [&](auto const& held) {
        return address_in(held, core_->plan().classes[plane], holder, layer_index, row);
      },
      core_->plane(plane));
}

namespace {

/// Reads `count` stored elements as f32.
Status read_elements(
    Device& device, Format format, std::byte const* from, std::uint64_t count, float* to) noexcept {
  if (format == Format::kF32) {
    return device.host_read(to, from, count * sizeof(float), Stream{});
  }
  std::byte piece[std::max(1024U, kLargestBlock.block_bytes)];
  FormatTrait const& trait = trait_of(format);
  std::uint64_t const most = sizeof piece / trait.block_bytes * trait.block_elements;
  while (count != 0) {
    auto const elements = static_cast<std::uint32_t>(std::min(count, most));
    std::uint64_t const bytes = stored_bytes(format, elements);
    HOLDFAST_TRY(device.host_read(piece, from, bytes, Stream{}));
    decode_elements(format, piece, elements, to);
    from += bytes;
    to += elements;
    count -= elements;
  }
  return {};
}

/// Rows of one strip, which lie one after the other. Each goes `stride` elements after the one before it.
Status read_strip(Device& device,
                  Strip const& strip,
                  std::byte const* from,
                  std::uint32_t count,
                  std::uint32_t stride,
                  float* to) noexcept {
  float rows[256];
  std::uint32_t const at_once =
      std::max(1U, static_cast<std::uint32_t>(std::size(rows)) / strip.elements);
  while (count != 0) {
    std::uint32_t const now = std::min(count, at_once);
    bool const is_one = now == 1;  // it may be longer than what is here
    HOLDFAST_TRY(read_elements(
        device, strip.format, from, std::uint64_t{now} * strip.elements, is_one ? to : rows));
    for (std::uint32_t row = 0; !is_one && row < now; ++row) {
      std::copy_n(rows + row * strip.elements, strip.elements, to + std::size_t{row} * stride);
    }
    from += std::uint64_t{now} * strip.row_bytes;
    to += std::size_t{now} * stride;
    count -= now;
  }
  return {};
}

/// Rows of one layer that lie in one page, which begins at `page`.
Status read_page(Device& device,
                 internal::storage::ClassPlan const& known,
                 std::byte const* page,
                 OpenRange rows,
                 float* to) noexcept {
  if (known.strips.count == 1) {  // rows lie one after the other
    Strip const& strip = known.strips[0];
    return read_elements(device,
                         strip.format,
                         page + std::uint64_t{rows.first} * strip.row_bytes,
                         std::uint64_t{rows.count} * strip.elements,
                         to);
  }
  for (Strip const& strip : known.strips) {
    std::byte const* const from = page + strip.offset + std::uint64_t{rows.first} * strip.row_bytes;
    HOLDFAST_TRY(read_strip(device, strip, from, rows.count, known.row_elements, to));
    to += strip.elements;
  }
  return {};
}

}  // namespace

Status Inspection::read_rows(Holder holder,
                             std::uint32_t plane,
                             std::uint32_t layer_index,
                             std::uint32_t first,
                             std::uint32_t count,
                             std::span<float> out,
                             std::uint32_t rank) const noexcept {
  if (!has_plane(core_, plane) || rank >= ranks()) {
    return no_such("plane");
  }
  auto const& known = core_->plan().classes[plane];
  if (out.size() != std::uint64_t{count} * known.row_elements) {
    return no_such("out");
  }
  if (count == 0) {
    return {};
  }
  if (!has_rows(core_, holder, plane, layer_index)) {
    return no_such("row");
  }
  Device& device = core_->device(core_->device_of(plane, rank));
  auto const read_from = [&](auto const& held) -> Status {
    float* to = out.data();
    for (std::uint32_t row = first, left = count; left != 0;) {  // first + count may overflow
      std::byte const* base = address_in(held, known, holder, layer_index, row);
      if (base == nullptr) {
        return no_such("row");
      }
      base = core_->at_rank(base, plane, rank);
      std::uint32_t const in_page = row % known.page_rows;
      std::uint32_t const run = std::min(left, known.page_rows - in_page);
      HOLDFAST_TRY(read_page(device,
                             known,
                             base - in_page * std::uint64_t{known.strips[0].row_bytes},
                             {in_page, run},
                             to));
      to += std::uint64_t{run} * known.row_elements;
      row += run;
      left -= run;
    }
    return {};
  };
  return std::visit(read_from, core_->plane(plane));
}

std::uint32_t Inspection::ranks() const noexcept {
  return plane_count() == 0 ? 0 : core_->plan().ranks;
}

std::uint32_t Inspection::stages() const noexcept {
  return plane_count() == 0 ? 0 : core_->plan().stages;
}

std::byte const* Inspection::base(std::uint32_t plane, std::uint32_t rank) const noexcept {
  if (!has_plane(core_, plane) || rank >= ranks()) {
    return nullptr;
  }
  return core_->at_rank(
      std::visit([](auto const& held) -> std::byte const* { return held.arena().base(); },
                 core_->plane(plane)),
      plane,
      rank);
}

Status Inspection::read_state(Holder holder,
                              std::span<float> out,
                              std::uint32_t rank) const noexcept {
  if (rank >= ranks()) {
    return no_such("rank");
  }
  for (std::uint32_t index = 0; index < plane_count(); ++index) {
    auto const& known = core_->plan().classes[index];
    if (!known.traits->is_slot) {
      continue;
    }
    std::uint32_t const slot = state(holder, index).slot;
    if (slot == 0) {
      return no_such("state");
    }
    std::size_t const elements = known.page_bytes / sizeof(float);
    if (out.size() < elements) {
      return no_such("out");
    }
    HOLDFAST_TRY(core_->device(core_->device_of(index, rank))
                     .host_read(out.data(),
                                base(index, rank) + slot * known.page_bytes,
                                known.page_bytes,
                                Stream{}));
    out = out.subspan(elements);
  }
  return out.empty() ? Status{} : no_such("out");
}

Result<MirrorInfo> Inspection::mirror(std::uint32_t sequence, std::uint32_t device) const noexcept {
  if (sequence >= sequence_limit() || device >= ranks() * stages()) {
    return no_such("sequence");
  }
  SequenceMirror record{};
  HOLDFAST_TRY(core_->device(device).host_read(
      &record,
      reinterpret_cast<std::byte const*>(core_->mirror(sequence, device)),
      offsetof(SequenceMirror, write_slot),
      Stream{}));
  return MirrorInfo{.committed = record.committed,
                    .open = record.open,
                    .generation = record.generation,
                    .read_slot = record.read_slot};
}

Status Inspection::read_table(std::uint32_t sequence,
                              std::uint32_t plane,
                              std::uint32_t first,
                              std::span<std::uint32_t> out,
                              std::uint32_t rank) const noexcept {
  if (!has_plane(core_, plane) || sequence >= sequence_limit() || rank >= ranks() ||
      std::uint64_t{first} + out.size() > core_->plan().classes[plane].entries) {
    return no_such("entry");
  }
  if (out.empty()) {
    return {};
  }
  auto const* const table = std::visit(
      [&](auto const& held) -> std::uint32_t const* { return held.device_table(sequence); },
      core_->plane(plane));
  return core_->device(core_->device_of(plane, rank))
      .host_read(out.data(),
                 reinterpret_cast<std::byte const*>(core_->at_rank(table + first, plane, rank)),
                 out.size_bytes(),
                 Stream{});
}

}  // namespace holdfast
