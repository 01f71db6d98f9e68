// SPDX-License-Identifier: Apache-2.0
// Writes: rows of one handle, rows of a whole step, and what a captured graph is bound to.
#include <algorithm>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"
#include "cache/core.hpp"
#include "cache/core_errors.hpp"

namespace holdfast::internal::cache {

RowsView Core::make_view(std::uint32_t index,
                         std::uint32_t plane,
                         std::uint32_t layer_index,
                         std::uint32_t rank) const noexcept {
  storage::ClassPlan const& known = plan_.classes[plane];
  if (HOLDFAST_MUTANT(kRankViewOfFirst)) {
    rank = 0;
  }
  return std::visit(
      [&](auto const& held) {
        return RowsView{.pages = at_rank(held.arena().base(), plane, rank),
                        .table = at_rank(held.device_table(index), plane, rank),
                        .sequence = mirror(index, device_of(plane, rank)),
                        .page_bytes = known.page_bytes,
                        .layer_offset = known.layer_offset(layer_index),
                        .strips = known.strips,
                        .page_rows = known.page_rows,
                        .ring_rows = known.ring_rows,
                        .behind = sequences_[index].position - open_range(index, plane).first,
                        .table_entries = known.entries,
                        .record_bytes = plan_.mirror_bytes};
      },
      planes_[plane]);
}

Status Core::write_rows(HandleId id,
                        std::uint64_t ticket,
                        planes::WriteRowsParameters rows,
                        PlaneKind kind,
                        std::uint32_t layer,
                        std::uint32_t rank,
                        Stream stream) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  if (HOLDFAST_MUTANT(kRankClamped)) {
    rank = std::min(rank, plan_.ranks - 1);
  }
  HOLDFAST_TRY(check_rank(rank));
  SequenceRecord& record = sequences_[id.index];
  std::uint32_t layer_index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known = plan_.find(kind, layer, &layer_index, &plane);
  if (known == nullptr) {
    return invalid("plane", "the layer has no plane of this kind", layer);
  }
  if (!known->takes_rows()) {
    return invalid(
        "plane", "has no rows to write: states go through state() and held(), pool keys are built");
  }
  std::uint32_t const written = writes_.rows(id.index, plane, layer_index, rank);
  if (record.open == OpenKind::kAppend && !(rows.first != 0 && HOLDFAST_MUTANT(kFirstNotIgnored))) {
    rows.first = written;  // in order, each once
  }
  if (rows.first > written && !HOLDFAST_MUTANT(kGapIgnored)) {
    return invalid("first", "rows below it are not written yet", rows.first, written);
  }
  std::uint32_t const open = open_range(id.index, plane).count;
  if (rows.count > open - rows.first) {
    if (HOLDFAST_MUTANT(kRefusedWriteCounts)) {
      writes_.raise(id.index, plane, layer_index, rank, open);
    }
    return invalid("count", "goes past the open rows", std::int64_t{rows.first} + rows.count, open);
  }
  if (rows.count == 0) {
    return {};
  }
  if (rows.source == nullptr) {
    return invalid("source", "must not be null");
  }
  Mark const before = record.mark;
  HOLDFAST_TRY(enter(record, stream));
  record.mark = HOLDFAST_MUTANT(kWriteNotMarked) ? before : record.mark;
  writes_.raise(id.index, plane, layer_index, rank, rows.first + rows.count);
  Status launched;
  if (known->pooled) {
    launched = launch_indexer(id.index, rows, plane, layer_index, rank, stream);
  } else {
    rows.view = make_view(id.index, plane, layer_index, rank);
    launched = devices_[device_of(plane, rank)]->launch(planes::kWriteRowsKernel, &rows, stream);
  }
  if (!launched && !HOLDFAST_MUTANT(kWriteNotTainted)) {
    record.tainted = true;
  }
  return launched;
}

Status Core::launch_indexer(std::uint32_t index,
                            planes::WriteRowsParameters const& rows,
                            std::uint32_t ring_plane,
                            std::uint32_t ring_index,
                            std::uint32_t rank,
                            Stream stream) noexcept {
  SequenceRecord& record = sequences_[index];
  storage::ClassPlan const& ring = plan_.classes[ring_plane];
  std::uint32_t key_index = 0;
  std::uint32_t key_plane = 0;
  storage::ClassPlan const* const keys =
      plan_.find_derived(plan_.layers_of(ring)[ring_index], &key_index, &key_plane);
  HOLDFAST_ASSERT(keys != nullptr);
  // Keys built from a view at the end of a handle cover the kept rows only.
  std::uint32_t const written =
      rows.source == nullptr ? rows.count : writes_.rows(index, ring_plane, ring_index, rank);
  planes::WriteIndexerParameters parameters{.ring = make_view(index, ring_plane, ring_index, rank),
                                            .keys = make_view(index, key_plane, key_index, rank),
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
  return devices_[device_of(ring_plane, rank)]->launch(
      planes::kWriteIndexerKernel, &parameters, stream);
}

Status Core::build_viewed_keys(std::uint32_t index, std::uint32_t keep, Stream stream) noexcept {
  for (std::uint32_t plane = 0; keep != 0 && plane < plan_.class_count; ++plane) {
    storage::ClassPlan const& known = plan_.classes[plane];
    bool const is_viewed = known.pooled && writes_.of(index, plane).is_viewed;
    std::uint32_t const layers = is_viewed ? known.layer_count : 0;
    for (std::uint32_t i = 0; i < plan_.ranks * layers; ++i) {
      std::uint32_t const layer = i / plan_.ranks;
      std::uint32_t const rank = i % plan_.ranks;
      if (writes_.is_viewed(index, plane, layer, HOLDFAST_MUTANT(kFirstRankViewed) ? 0 : rank)) {
        HOLDFAST_SOMETIMES(kViewedKeysBuilt, true);
        planes::WriteRowsParameters const rows{
            .view = {}, .source = nullptr, .first = 0, .count = keep};
        HOLDFAST_TRY(launch_indexer(index, rows, plane, layer, rank, stream));
      }
    }
  }
  return {};
}

/// Whether a whole step may be written at once: every item is there, and the device still has the
/// step's map of rows.
Status Core::check_whole_step(HandleId step) const noexcept {
  HOLDFAST_TRY(check_step(step));
  StepRecord const& record = steps_[step.index];
  if (record.ticket != map_ticket_ && !HOLDFAST_MUTANT(kMapOfAnyStep)) {
    return invalid("step", "another one was begun since; write its items one by one");
  }
  for (std::uint32_t i = 0; i < record.items; ++i) {
    HandleId const id = items_of(step)[i].id;
    Status const open = id.index == 0 ? Status{} : check_open(id, record.ticket);
    if (!open && !HOLDFAST_MUTANT(kWholeSkipsGone)) {
      return of_item(open.error(), i);
    }
  }
  return {};
}

/// Whether all rows of all items may be written in `layers` layers of a class, each for the first time
/// in an append.
Status Core::check_unwritten(HandleId step,
                             std::uint32_t plane,
                             std::uint32_t first_layer,
                             std::uint32_t layers,
                             std::uint32_t rank) const noexcept {
  for (std::uint32_t i = 0; i < steps_[step.index].items; ++i) {
    ItemRequest const& item = items_of(step)[i];
    if (item.kind != OpenKind::kAppend || writes_.is_untouched(item.id.index, plane, rank) ||
        HOLDFAST_MUTANT(kStepWritesAgain)) {
      continue;
    }
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      std::uint32_t const written = writes_.rows(item.id.index, plane, first_layer + layer, rank);
      if (written != 0) {
        return of_item(invalid("item", "has rows of this append written already", written, 0), i);
      }
    }
  }
  return {};
}

/// Enters the calls on all items, and that on the map of rows.
Status Core::enter_step(HandleId step, Stream stream) noexcept {
  HOLDFAST_TRY(fences_.enter(stream));
  HOLDFAST_TRY(fences_.wait_for(row_map_));
  for (std::uint32_t i = 0; i < steps_[step.index].items; ++i) {
    bool const is_left_out = i != 0 && HOLDFAST_MUTANT(kStepEntersFirst);
    if (std::uint32_t const index = items_of(step)[i].id.index; index != 0 && !is_left_out) {
      HOLDFAST_TRY(enter(sequences_[index], stream));
    }
  }
  row_map_ = fences_.here();
  return {};
}

Result<Core::StepLayers> Core::step_layers(PlaneRows const& rows) const noexcept {
  StepLayers found{.layers = rows.layers, .source = rows.source};
  storage::ClassPlan const* const known =
      plan_.find(rows.plane, rows.layer, &found.first_layer, &found.plane);
  if (known == nullptr || !known->takes_rows()) {
    return invalid("plane", "the layer has no rows of this kind to write", rows.layer);
  }
  if (known->traits->lags) {
    return invalid("plane", "lags by another number of rows in each sequence");
  }
  if (rows.layers == 0 || rows.layers > known->layer_count - found.first_layer) {
    return invalid("layers",
                   "are not as many as its class has from this one on",
                   rows.layers,
                   known->layer_count - found.first_layer);
  }
  if (rows.source == nullptr) {
    return invalid("source", "must not be null");
  }
  return found;
}

Status Core::write_step(HandleId step,
                        std::span<PlaneRows const> classes,
                        std::uint32_t rank,
                        Stream stream) noexcept {
  constexpr std::uint32_t kMost = 16;
  // More rows than this are memory traffic, for which a class alone is quicker.
  constexpr std::uint32_t kListedRows = 256;
  HOLDFAST_TRY(check_whole_step(step));
  HOLDFAST_TRY(check_rank(rank));
  if (classes.size() > kMost) {
    return invalid("classes", "are too many", static_cast<std::int64_t>(classes.size()), kMost);
  }
  std::array<StepLayers, kMost> list;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    auto const found = step_layers(classes[i]);
    HOLDFAST_TRY(found);
    for (StepLayers const& other : std::span{list}.first(i)) {
      if (other.plane == found->plane && other.first_layer < found->first_layer + found->layers &&
          found->first_layer < other.first_layer + other.layers) {
        return invalid("classes", "have a layer twice", classes[i].layer);
      }
    }
    HOLDFAST_TRY(check_unwritten(step, found->plane, found->first_layer, found->layers, rank));
    list[i] = *found;
  }
  HOLDFAST_TRY(enter_step(step, stream));
  std::uint32_t rows = 0;
  for (ItemRequest const& item : items_of(step)) {
    rows += item.rows;
    for (StepLayers const& layers :
         std::span{list}.first(item.id.index == 0 ? 0 : classes.size())) {
      count_written(item, layers, rank);
    }
  }
  if (rows == 0) {
    return {};
  }
  planes::WriteListParameters collected;
  Device* device = nullptr;
  Status launched;
  for (StepLayers const& layers : std::span{list}.first(classes.size())) {
    Device& own = *devices_[device_of(layers.plane, rank)];
    if (launched && device != nullptr && device != &own) {
      launched = launch_list(collected, *device, stream);
    }
    device = &own;
    if (launched) {
      launched = plan_.classes[layers.plane].pooled
                     ? list_indexer(collected, layers, rows, rank, stream)
                     : list_rows(collected, layers, rows, rank, stream);
    }
    if (launched && rows > kListedRows) {
      launched = launch_list(collected, own, stream);
    }
  }
  if (launched && device != nullptr) {
    launched = launch_list(collected, *device, stream);
  }
  for (std::uint32_t i = 0; !launched && i < steps_[step.index].items; ++i) {
    sequences_[items_of(step)[i].id.index].tainted =
        items_of(step)[i].id.index != 0 && !HOLDFAST_MUTANT(kWriteNotTainted);
  }
  return launched;
}

/// All rows of an item count as written in these layers.
void Core::count_written(ItemRequest const& item,
                         StepLayers const& layers,
                         std::uint32_t rank) noexcept {
  if (layers.layers == plan_.classes[layers.plane].layer_count ||
      HOLDFAST_MUTANT(kPartOfClassIsAll)) {
    writes_.raise_all(item.id.index, layers.plane, rank);
    return;
  }
  for (std::uint32_t at = 0; at < layers.layers; ++at) {
    writes_.raise(item.id.index, layers.plane, layers.first_layer + at, rank, item.rows);
  }
}

Status Core::launch_list(planes::WriteListParameters& list,
                         Device& device,
                         Stream stream) noexcept {
  bool const is_one = list.row_count + list.indexer_count == 1;
  Status const launched =
      list.row_count + list.indexer_count == 0 ? Status{}
      : !is_one             ? device.launch(planes::kWriteListKernel, &list, stream)
      : list.row_count == 1 ? device.launch(planes::kWriteRowsKernel, &list.rows[0], stream)
                            : device.launch(planes::kWriteIndexerKernel, &list.indexers[0], stream);
  list.row_count = 0;
  list.indexer_count = 0;
  return launched;
}

Status Core::list_rows(planes::WriteListParameters& list,
                       StepLayers const& layers,
                       std::uint32_t rows,
                       std::uint32_t rank,
                       Stream stream) noexcept {
  if (list.row_count == planes::WriteListParameters::kMost) {
    HOLDFAST_TRY(launch_list(list, *devices_[device_of(layers.plane, rank)], stream));
  }
  storage::StepWork const& work = work_.of(plan_.classes[layers.plane].stage);
  list.rows[list.row_count++] = {.view = make_view(0, layers.plane, layers.first_layer, rank),
                                 .source = layers.source,
                                 .first = 0,
                                 .count = rows,
                                 .layers = layers.layers,
                                 .row_sequences = work.row_sequences(rank)};
  return {};
}

Status Core::list_indexer(planes::WriteListParameters& list,
                          StepLayers const& layers,
                          std::uint32_t rows,
                          std::uint32_t rank,
                          Stream stream) noexcept {
  storage::ClassPlan const& ring = plan_.classes[layers.plane];
  auto const ring_layers = plan_.layers_of(ring);
  struct Keys {
    storage::ClassPlan const* known = nullptr;
    std::uint32_t index = 0;
    std::uint32_t plane = 0;
  };
  auto const keys_of = [&](std::uint32_t layer) {
    Keys keys;
    keys.known =
        plan_.find_derived(ring_layers[layers.first_layer + layer], &keys.index, &keys.plane);
    HOLDFAST_ASSERT(keys.known != nullptr);
    return keys;
  };
  // Rings are told apart by their size, keys are not: one class of keys may serve several of rings.
  for (std::uint32_t done = 0, end = 0; done < layers.layers; done = end) {
    Keys const keys = keys_of(done);
    for (++end; end < layers.layers; ++end) {
      Keys const next = keys_of(end);
      if (next.plane != keys.plane || next.index != keys.index + end - done) {
        break;
      }
    }
    if (list.indexer_count == planes::WriteListParameters::kMost) {
      HOLDFAST_TRY(launch_list(list, *devices_[device_of(layers.plane, rank)], stream));
    }
    list.indexers[list.indexer_count++] = {
        .ring = make_view(0, layers.plane, layers.first_layer + done, rank),
        .keys = make_view(0, keys.plane, keys.index, rank),
        .source = layers.source + std::uint64_t{done} * rows * ring.row_elements,
        .first = 0,
        .count = rows,
        .written = rows,
        .pool = keys.known->pool,
        .key_width = keys.known->key_width,
        .first_key = 0,
        .layers = end - done,
        .row_sequences = work_.of(ring.stage).row_sequences(rank)};
  }
  return {};
}

GraphSignature Core::shape_of(HandleId step) const noexcept {
  GraphSignature signature{.cache = number_, .items = steps_[step.index].items};
  auto const mix = [&](std::uint64_t value) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
    signature.items = (signature.items ^ value) * kOdd;
    signature.items ^= signature.items >> 29U;
  };
  for (std::uint32_t i = 0; i < steps_[step.index].items; ++i) {
    ItemRequest const& item = items_of(step)[i];
    mix(static_cast<std::uint64_t>(item.kind));
    mix(static_cast<std::uint64_t>(item.mode));
    mix(item.rows);
    signature.rows += item.rows;
  }
  return signature;
}

Result<GraphSignature> Core::signature(HandleId step) const noexcept {
  HOLDFAST_TRY(check_whole_step(step));
  GraphSignature signature = shape_of(step);
  for (std::uint32_t i = 0; i < steps_[step.index].items; ++i) {
    ItemRequest const& item = items_of(step)[i];
    if (item.id.index == 0) {
      continue;
    }
    if (Status const written = check_written(item.id.index, item.rows); !written) {
      return of_item(written.error(), i);
    }
    for (std::uint32_t plane = 0; plane < plan_.class_count; ++plane) {
      signature.viewed |= writes_.of(item.id.index, plane).is_viewed ? 1U << plane : 0U;
    }
  }
  return signature;
}

Status Core::replay(HandleId step, GraphSignature const& signature, Stream stream) noexcept {
  HOLDFAST_TRY(check_whole_step(step));
  GraphSignature const own = shape_of(step);
  if ((own.cache != signature.cache || own.items != signature.items ||
       own.rows != signature.rows) &&
      !HOLDFAST_MUTANT(kCudaForeignGraph)) {
    return own.cache != signature.cache
               ? invalid("signature", "is of another cache: capture the graph anew")
               : invalid("signature",
                         "is of a step of other items: capture the graph anew",
                         signature.rows,
                         own.rows);
  }
  for (std::uint32_t plane = 0; plane < plan_.class_count; ++plane) {
    storage::ClassPlan const& known = plan_.classes[plane];
    if (known.page_rows == 0 || known.traits->lags) {
      continue;
    }
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      HOLDFAST_TRY(check_unwritten(step, plane, 0, known.layer_count, rank));
    }
    for (std::uint32_t i = 0; (signature.viewed >> plane & 1U) != 0 && i < steps_[step.index].items;
         ++i) {
      HandleId const id = items_of(step)[i].id;
      Status const fits = id.index == 0 ? Status{} : check_view(sequences_[id.index], plane);
      if (!fits) {
        return of_item(fits.error(), i);
      }
    }
  }
  HOLDFAST_TRY(enter_step(step, stream));
  for (std::uint32_t i = 0; i < steps_[step.index].items; ++i) {
    ItemRequest const& item = items_of(step)[i];
    for (std::uint32_t plane = 0; item.id.index != 0 && plane < plan_.class_count; ++plane) {
      bool const lags = plan_.classes[plane].traits->lags;
      for (std::uint32_t rank = 0; rank < plan_.ranks && !lags; ++rank) {
        writes_.raise_all(item.id.index, plane, rank);
        if ((signature.viewed >> plane & 1U) != 0) {
          writes_.view_all(item.id.index, plane, rank);
        }
      }
    }
  }
  return {};
}

}  // namespace holdfast::internal::cache
