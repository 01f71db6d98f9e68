// SPDX-License-Identifier: Apache-2.0
// Begin, write and finish: rows of an open handle.
#include <algorithm>

#include "base/mutants.hpp"
#include "cache/core.hpp"
#include "cache/core_errors.hpp"

namespace holdfast::internal::cache {

using planes::Opening;
using storage::Owner;

Status Core::check_rows(SequenceRecord const& record,
                        OpenKind kind,
                        std::uint32_t rows) const noexcept {
  if (kind == OpenKind::kAppend && rows == 0) {
    return invalid("rows", "an append needs at least one row");
  }
  if (kind == OpenKind::kRound && rows > plan_.largest_round) {
    return invalid("rows", "is more than the layout's largest round", rows, plan_.largest_round);
  }
  if (rows > plan_.tokens - record.position) {
    return Error{.code = ErrorCode::kTooLong,
                 .text = "is more than the layout's tokens",
                 .subject = "rows",
                 .got = std::int64_t{record.position} + rows,
                 .limit = plan_.tokens};
  }
  return {};
}

Status Core::check_storage(Owner owner, Opening const& opening) const noexcept {
  Status answer;
  for_each_plane([&](std::uint32_t /*index*/, auto const& plane) {
    if (answer && plane.need(owner, opening) > plane.available()) {
      answer = Error{.code = ErrorCode::kExhausted,
                     .text = "not enough free pages or slots",
                     .subject = name_of(plane.kKind),
                     .got = plane.need(owner, opening),
                     .limit = plane.available()};
    }
  });
  return answer;
}

Result<std::uint64_t> Core::begin(HandleId id,
                                  OpenKind kind,
                                  std::uint32_t rows,
                                  Stream stream) noexcept {
  HOLDFAST_TRY(check_at_rest(id));
  SequenceRecord& record = sequences_[id.index];
  HOLDFAST_TRY(check_rows(record, kind, rows));
  Owner const owner = owner_of(id.index);
  Opening const opening{.base = record.position,
                        .rows = rows,
                        .round = kind == OpenKind::kRound,
                        .reached = record.position + rows};
  HOLDFAST_TRY(check_storage(owner, opening));
  step_.clear();
  for_each_plane([&](std::uint32_t /*index*/, auto& plane) {
    plane.copy_on_write(owner, opening, step_);
    plane.reserve(owner, opening, step_);
  });
  record.open = kind;
  record.rows = rows;
  record.ticket = next_ticket_++;
  for (std::uint64_t at = cell(id.index, 0, 0), i = 0; i < cells_; ++i) {
    written_[at + i] = 0;
    viewed_[at + i] = 0;
  }
  if (Status const launched = publish(id.index, stream); !launched) {
    record.tainted = true;  // copies may have half run; release gives the reservation back
    return launched.error();
  }
  return record.ticket;
}

RowsView Core::make_view(std::uint32_t index,
                         std::uint32_t plane,
                         std::uint32_t layer_index) const noexcept {
  storage::ClassPlan const& known = plan_.classes[plane];
  return std::visit(
      [&](auto const& held) {
        return RowsView{
            .pages = held.arena().base(),
            .table = held.device_table(index),
            .sequence = mirror(index),
            .page_bytes = known.page_bytes,
            .layer_offset = std::uint64_t{layer_index} * known.parts * known.strip_bytes,
            .part_stride = known.strip_bytes,
            .row_bytes = known.row_bytes,
            .parts = known.parts,
            .page_rows = known.page_rows,
            .ring_rows = known.ring_rows};
      },
      planes_[plane]);
}

Status Core::write_rows(HandleId id,
                        std::uint64_t ticket,
                        planes::WriteRowsParameters rows,
                        PlaneKind kind,
                        std::uint32_t layer,
                        Stream stream) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  SequenceRecord& record = sequences_[id.index];
  std::uint32_t layer_index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known = plan_.find(kind, layer, &layer_index, &plane);
  if (known == nullptr) {
    return invalid("plane", "the layer has no plane of this kind", layer);
  }
  if (known->page_rows == 0 || kind == PlaneKind::kPoolKeys) {
    return invalid("plane", "has no rows to write: states go through state(), pool keys are built");
  }
  std::uint32_t& written = written_[cell(id.index, plane, layer_index)];
  if (record.open == OpenKind::kAppend) {
    rows.first = written;  // in order, each once
  }
  if (rows.first > written) {
    return invalid("first", "rows below it are not written yet", rows.first, written);
  }
  if (rows.count > record.rows - rows.first) {
    return invalid(
        "count", "goes past the open rows", std::int64_t{rows.first} + rows.count, record.rows);
  }
  if (rows.count == 0) {
    return {};
  }
  if (rows.source == nullptr) {
    return invalid("source", "must not be null");
  }
  written = std::max(written, rows.first + rows.count);
  Status launched;
  if (kind == PlaneKind::kTailRing) {
    launched = launch_indexer(id.index, rows, plane, layer, stream);
  } else {
    rows.view = make_view(id.index, plane, layer_index);
    launched = device_.launch(planes::kWriteRowsKernel, &rows, stream);
  }
  if (!launched) {
    record.tainted = true;
  }
  return launched;
}

Status Core::launch_indexer(std::uint32_t index,
                            planes::WriteRowsParameters const& rows,
                            std::uint32_t ring_plane,
                            std::uint32_t layer,
                            Stream stream) noexcept {
  SequenceRecord& record = sequences_[index];
  std::uint32_t ring_index = 0;
  std::uint32_t key_index = 0;
  std::uint32_t ignored = 0;
  std::uint32_t key_plane = 0;
  static_cast<void>(plan_.find(PlaneKind::kTailRing, layer, &ring_index, &ignored));
  storage::ClassPlan const* const keys =
      plan_.find(PlaneKind::kPoolKeys, layer, &key_index, &key_plane);
  HOLDFAST_ASSERT(keys != nullptr);
  // Keys built from a view at the end of a handle cover the kept rows only.
  std::uint32_t const written =
      rows.source == nullptr ? rows.count : written_[cell(index, ring_plane, ring_index)];
  planes::WriteIndexerParameters parameters{.ring = make_view(index, ring_plane, ring_index),
                                            .keys = make_view(index, key_plane, key_index),
                                            .source = rows.source,
                                            .first = rows.first,
                                            .count = rows.count,
                                            .written = written,
                                            .pool = keys->pool,
                                            .key_width = keys->key_width,
                                            .first_key = record.position / keys->pool};
  if (HOLDFAST_MUTANT(kKeyOverRejectedKept)) {
    parameters.first_key = std::max(parameters.first_key, record.keys_built);
    record.keys_built = std::max(record.keys_built, (record.position + written) / keys->pool);
  }
  return device_.launch(planes::kWriteIndexerKernel, &parameters, stream);
}

Result<RowsView> Core::rows_view(HandleId id,
                                 std::uint64_t ticket,
                                 PlaneKind kind,
                                 std::uint32_t layer,
                                 std::uint32_t written) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  SequenceRecord const& record = sequences_[id.index];
  std::uint32_t layer_index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known = plan_.find(kind, layer, &layer_index, &plane);
  if (known == nullptr || known->page_rows == 0 || kind == PlaneKind::kPoolKeys) {
    return invalid("plane", "the layer has no rows of this kind to write", layer);
  }
  if (kind == PlaneKind::kTailRing &&
      record.rows > known->ring_rows - record.position % known->pool) {
    return invalid("plane",
                   "a view on a ring cannot take this many rows; use write()",
                   record.rows,
                   known->ring_rows - record.position % known->pool);
  }
  std::uint64_t const at = cell(id.index, plane, layer_index);
  written_[at] = std::max(written_[at], std::min(written, record.rows));
  viewed_[at] = 1;
  return make_view(id.index, plane, layer_index);
}

Result<StateView> Core::state_view(HandleId id,
                                   std::uint64_t ticket,
                                   std::uint32_t layer,
                                   std::uint32_t written) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  std::uint32_t layer_index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known =
      plan_.find(PlaneKind::kRecurrent, layer, &layer_index, &plane);
  if (known == nullptr) {
    return invalid("layer", "has no recurrent state", layer);
  }
  std::uint32_t& known_written = written_[cell(id.index, plane, layer_index)];
  known_written = std::max(known_written, std::min(written, sequences_[id.index].rows));
  StateView view = plan_.state_views[layer_index];
  view.slots = std::visit([](auto const& held) { return held.arena().base(); }, planes_[plane]);
  view.sequence = mirror(id.index);
  view.slot_bytes = known->page_bytes;
  return view;
}

Result<std::uint32_t> Core::open_rows(HandleId id, std::uint64_t ticket) const noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  return sequences_[id.index].rows;
}

Status Core::check_written(std::uint32_t index, std::uint32_t keep) const noexcept {
  for (std::uint32_t plane = 0; plane < plan_.class_count; ++plane) {
    storage::ClassPlan const& known = plan_.classes[plane];
    if (known.kind == PlaneKind::kPoolKeys) {
      continue;  // derived
    }
    for (std::uint32_t i = 0; i < known.layer_count; ++i) {
      if (written_[cell(index, plane, i)] < keep) {
        return Error{.code = ErrorCode::kIncomplete,
                     .text = "rows are missing",
                     .subject = name_of(known.kind),
                     .layer = static_cast<std::int32_t>(plan_.layers_of(known)[i]),
                     .got = written_[cell(index, plane, i)],
                     .limit = keep};
      }
    }
  }
  return {};
}

Status Core::build_viewed_keys(std::uint32_t index, std::uint32_t keep, Stream stream) noexcept {
  for (std::uint32_t plane = 0; plane < plan_.class_count; ++plane) {
    storage::ClassPlan const& known = plan_.classes[plane];
    for (std::uint32_t i = 0; known.kind == PlaneKind::kTailRing && i < known.layer_count; ++i) {
      if (viewed_[cell(index, plane, i)] != 0) {
        HOLDFAST_TRY(launch_indexer(index,
                                    {.view = {}, .source = nullptr, .first = 0, .count = keep},
                                    plane,
                                    plan_.layers_of(known)[i],
                                    stream));
      }
    }
  }
  return {};
}

void Core::close_planes(std::uint32_t index, std::uint32_t keep) noexcept {
  SequenceRecord& record = sequences_[index];
  for_each_plane([&](std::uint32_t plane_index, auto& plane) {
    std::uint32_t reached = 0;
    for (std::uint32_t i = 0; i < plan_.classes[plane_index].layer_count; ++i) {
      reached = std::max(reached, written_[cell(index, plane_index, i)]);
    }
    plane.commit(owner_of(index),
                 {.base = record.position,
                  .rows = record.rows,
                  .round = record.open == OpenKind::kRound,
                  .reached = record.position + reached},
                 keep,
                 step_);
  });
  record.position += keep;
  record.rows = 0;
  record.open = OpenKind::kNone;
}

Status Core::finish(HandleId id, std::uint64_t ticket, std::uint32_t keep, Stream stream) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  SequenceRecord& record = sequences_[id.index];
  if (keep > record.rows) {
    return invalid("keep", "is more than the round's rows", keep, record.rows);
  }
  HOLDFAST_TRY(check_written(id.index, keep));
  if (keep != 0) {
    if (Status const built = build_viewed_keys(id.index, keep, stream); !built) {
      record.tainted = true;
      return built;
    }
  }
  step_.clear();
  close_planes(id.index, keep);
  Status const launched = publish(id.index, stream);
  if (!launched) {
    record.tainted = true;
  }
  return launched;
}

}  // namespace holdfast::internal::cache
