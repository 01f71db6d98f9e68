// SPDX-License-Identifier: Apache-2.0
// The toy engine's kernels.
#include "models/engine/toy_engine.hpp"

#include <algorithm>
#include <cstddef>
#include <holdfast/formats.hpp>
#include <new>
#include <type_traits>
#include <vector>

#include "models/engine/try_again.hpp"

namespace holdfast::model {
namespace {

/// Rows of one layer: into staging memory, or into the pages of a view.
struct RowsParameters {
  PlaneShape const* shape;
  RowsView view;        // pages == nullptr: into `out`
  Token const* tokens;  // [count]
  float* out;           // [count, elements of the rank]
  std::uint32_t position;
  std::uint32_t count;
  std::uint32_t ranks;
  std::uint32_t rank;
};

/// Where strip `strip` of a row lies.
std::byte* row_of(RowsView const& view, std::uint32_t position, Strip const& strip) noexcept {
  std::uint32_t const physical = view.ring_rows == 0 ? position : position % view.ring_rows;
  return view.pages + view.table[physical / view.page_rows] * view.page_bytes + view.layer_offset +
         strip.offset + std::uint64_t{physical % view.page_rows} * strip.row_bytes;
}

void declare_rows(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<RowsParameters const*>(raw);
  sink.read(parameters.tokens, parameters.count * sizeof(Token));
  if (parameters.view.pages == nullptr) {
    sink.write(parameters.out,
               std::uint64_t{parameters.count} *
                   shard_elements(*parameters.shape, parameters.ranks) * sizeof(float));
    return;
  }
  for (std::uint32_t i = 0; i < parameters.count; ++i) {
    for (Strip const& strip : parameters.view.strips) {
      sink.write(row_of(parameters.view, parameters.position + i, strip), strip.row_bytes);
    }
  }
}

void make_rows(void const* raw) noexcept {
  auto const& parameters = *static_cast<RowsParameters const*>(raw);
  PlaneShape const& shape = *parameters.shape;
  float* out = parameters.out;
  float whole[kWidestRow];
  for (std::uint32_t i = 0; i < parameters.count; ++i) {
    if (parameters.ranks == 1) {
      make_row(shape, parameters.tokens[i], parameters.position + i, out);
    } else {
      make_row(shape, parameters.tokens[i], parameters.position + i, whole);
      take_shard(shape, whole, parameters.ranks, parameters.rank, out);
    }
    if (parameters.view.pages == nullptr) {
      out += shard_elements(shape, parameters.ranks);
      continue;
    }
    float const* from = out;
    for (Strip const& strip : parameters.view.strips) {
      encode_elements(strip.format,
                      from,
                      strip.elements,
                      row_of(parameters.view, parameters.position + i, strip));
      from += strip.elements;
    }
  }
}

Kernel const kRowsKernel{"toy.rows", sizeof(RowsParameters), &declare_rows, &make_rows};

}  // namespace

Status ToyEngine::make_rows(PlaneShape const& plane,
                            RowSpan const& rows,
                            float* out,
                            std::uint32_t rank,
                            Stream stream) noexcept {
  RowsParameters const parameters{.shape = &plane,
                                  .view = {},
                                  .tokens = rows.tokens + rows.first,
                                  .out = out,
                                  .position = rows.position + rows.first,
                                  .count = rows.count,
                                  .ranks = shape_.ranks,
                                  .rank = rank};
  return device(plane.stage, rank).launch(kRowsKernel, &parameters, stream);
}

template <typename Handle>
Status ToyEngine::write_plane(Handle& handle,
                              PlaneShape const& plane,
                              RowSpan const& span,
                              std::uint32_t rank,
                              WriteStyle style) noexcept {
  auto const [tokens, position, all_first, count] = span;
  std::uint32_t const first = all_first;  // clang 14 captures no structured binding
  std::uint32_t const via = style.plan.via;
  auto* const staging = scratch_.take<float>(std::size_t{count} * plane.elements);
  RowsParameters parameters{.shape = &plane,
                            .view = {},
                            .tokens = tokens + first,
                            .out = staging,
                            .position = position + first,
                            .count = count,
                            .ranks = shape_.ranks,
                            .rank = rank};
  Device& own = device(plane.stage, rank);
  if (style.view) {
    // A ring has a view only for few rows; the engine falls back to writing.
    if (auto view = handle.rows(plane.kind, plane.layer, first + count, rank); view) {
      parameters.view = *view;
      return launch(own, kRowsKernel, &parameters);
    }
  }
  Stream const stream = via == kStreamNames ? style.stream : Stream{via};
  HOLDFAST_TRY(own.launch(kRowsKernel, &parameters, stream));
  std::uint32_t const piece = style.piece == 0 ? count : style.piece;
  for (std::uint32_t done = 0; done < count; done += piece) {
    std::uint32_t const rows = std::min(piece, count - done);
    float const* const source = staging + std::size_t{done} * shard_elements(plane, shape_.ranks);
    auto const write = [&]() noexcept -> Status {
      if constexpr (std::is_same_v<Handle, StepRows>) {
        // Rows of an append follow each other, whatever the caller says.
        bool const is_off = !handle.round && style.plan.mistake == Mistake::kRange;
        std::uint32_t const from = is_off ? UINT32_MAX : first + done;
        return handle.step.write(
            handle.item, plane.kind, plane.layer, source, from, rows, stream, rank);
      } else if constexpr (std::is_same_v<Handle, Round>) {
        return handle.write(plane.kind, plane.layer, source, first + done, rows, stream, rank);
      } else {
        return handle.write(plane.kind, plane.layer, source, rows, stream, rank);
      }
    };
    HOLDFAST_TRY(try_again(write));
    stream_ = stream;
  }
  return {};
}

template <typename Handle>
Status ToyEngine::write_part(Handle& handle,
                             PlaneShape const& plane,
                             RowSpan const& span,
                             std::uint32_t rank,
                             WriteStyle style) noexcept {
  if (!is_special(plane, rank)) {
    style.plan = {};
    return span.count == 0 ? Status{} : write_plane(handle, plane, span, rank, style);
  }
  Liberty const liberty = style.plan.liberty;
  HOLDFAST_TRY(err(handle, plane, span.first, rank, style));
  if (liberty == Liberty::kLook) {
    static_cast<void>(handle.rows(plane.kind, plane.layer, 0, rank));  // not every ring has a view
  }
  if (span.count != 0) {
    style.view = style.view != (liberty == Liberty::kOther);
    if (liberty == Liberty::kTwice && (style.view || is_round(handle))) {
      RowSpan others = span;
      others.tokens = other_tokens(span.first + span.count);
      // What has no view is written, and rows of an append once.
      bool const can_view = style.view && handle.rows(plane.kind, plane.layer, 0, rank).has_value();
      if (can_view || is_round(handle)) {
        HOLDFAST_TRY(write_plane(handle, plane, others, rank, style));
      }
    }
    HOLDFAST_TRY(write_plane(handle, plane, span, rank, style));
  }
  return err(handle, plane, span.first + span.count, rank, style);
}

/// From the watermark to the last of the work's rows, as far as the handle allows.
template <typename Handle>
Status ToyEngine::write_draft(Handle& handle,
                              PlaneShape const& plane,
                              WriteWork const& work,
                              std::uint32_t rank,
                              WriteStyle style) noexcept {
  auto const open = handle.range(plane.kind, plane.layer);
  HOLDFAST_TRY(open);
  std::uint32_t const behind = work.position - open->first;
  std::uint32_t const most = std::min(open->count, behind + work.end);
  if (most <= style.skip || work.history.size() < work.position) {
    return {};
  }
  std::uint32_t const count = most - style.skip;
  Token* const tokens = scratch_.take<Token>(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    tokens[i] = i < behind ? work.history[open->first + i] : work.tokens[i - behind];
  }
  RowSpan const span{.tokens = tokens, .position = open->first, .first = 0, .count = count};
  return write_part(handle, plane, span, rank, style);
}

void ToyEngine::choose_special(WritePlan const& plan) noexcept {
  special_ = plan.is_plain() ? std::nullopt : part_of(shape_, plan);
}

Status ToyEngine::start(WriteWork& work,
                        std::span<Token const> tokens,
                        WriteStyle const& style) noexcept {
  std::uint64_t const rows = tokens.size();
  HOLDFAST_TRY(
      make_room(style.plan.is_plain() ? need_of(rows) : 2 * need_of(rows + 2), style.stream));
  if (style.plan.via != kStreamNames) {
    HOLDFAST_TRY(make_room(0, Stream{style.plan.via}));
  }
  stream_ = style.stream;
  work.tokens = tokens_ = scratch_.keep(tokens);
  choose_special(style.plan);
  return {};
}

template <typename Handle>
Status ToyEngine::write(Handle& handle,
                        std::uint32_t position,
                        std::span<Token const> tokens,
                        std::uint32_t first,
                        std::uint32_t count,
                        WriteStyle style,
                        std::span<Token const> history) noexcept {
  if (count == 0) {
    stream_ = style.stream;
    return {};
  }
  WriteWork work{.position = position,
                 .first = first,
                 .end = first + count,
                 .special_first = first,
                 .special_end = style.plan.rows_of(first + count),
                 .history = history};
  work.state_end = static_cast<std::uint32_t>(tokens.size());
  work.special_state_end = style.plan.rows_of(work.state_end);
  HOLDFAST_TRY(start(work, tokens, style));
  return write_parts(handle, work, style);
}

template <typename Handle>
Status ToyEngine::fill(Handle& handle,
                       std::uint32_t position,
                       std::span<Token const> tokens,
                       std::uint32_t written,
                       WriteStyle style) noexcept {
  auto const rows = static_cast<std::uint32_t>(tokens.size());
  WriteWork work{.position = position,
                 .first = written,
                 .end = rows,
                 .special_first = style.plan.rows_of(written),
                 .special_end = rows,
                 .state_end = rows,
                 .special_state_end = rows,
                 .has_drafts = false};
  HOLDFAST_TRY(start(work, tokens, style));
  style.plan = {};
  style.again = is_round(handle);
  return write_parts(handle, work, style);
}

template <typename Handle>
Status ToyEngine::write_parts(Handle& handle, WriteWork const& work, WriteStyle style) noexcept {
  bool const reversed = style.plan.reversed;
  for (std::uint32_t i = 0; i < shape_.ranks; ++i) {
    std::uint32_t const rank = reversed ? shape_.ranks - 1 - i : i;
    if (reversed) {
      HOLDFAST_TRY(write_slots(handle, work, rank, style));
    }
    HOLDFAST_TRY(write_planes(handle, work, rank, style));
    if (!reversed) {
      HOLDFAST_TRY(write_slots(handle, work, rank, style));
    }
  }
  return {};
}

template <typename Handle>
Status ToyEngine::write_planes(Handle& handle,
                               WriteWork const& work,
                               std::uint32_t rank,
                               WriteStyle style) noexcept {
  std::size_t const count = shape_.written_planes.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t const at = style.plan.reversed ? count - 1 - i : i;
    PlaneShape const& plane = shape_.planes[shape_.written_planes[at]];
    if (rule_of(plane.kind) == PlaneRule::kDraft) {
      HOLDFAST_TRY(work.has_drafts ? write_draft(handle, plane, work, rank, style) : Status{});
      continue;
    }
    bool const special = is_special(plane, rank);
    std::uint32_t const first = special ? work.special_first : work.first;
    std::uint32_t const end = special ? work.special_end : work.end;
    RowSpan const rows{.tokens = work.tokens,
                       .position = work.position,
                       .first = first,
                       .count = end - std::min(first, end)};
    HOLDFAST_TRY(write_part(handle, plane, rows, rank, style));
  }
  return {};
}

#define HOLDFAST_WRITES_ON(Handle)                                   \
  template Status ToyEngine::write(Handle&,                          \
                                   std::uint32_t,                    \
                                   std::span<Token const>,           \
                                   std::uint32_t,                    \
                                   std::uint32_t,                    \
                                   WriteStyle,                       \
                                   std::span<Token const>) noexcept; \
  template Status ToyEngine::fill(                                   \
      Handle&, std::uint32_t, std::span<Token const>, std::uint32_t, WriteStyle) noexcept;

HOLDFAST_WRITES_ON(Append)
HOLDFAST_WRITES_ON(Round)
HOLDFAST_WRITES_ON(StepRows)
#undef HOLDFAST_WRITES_ON

template Status ToyEngine::write_part(
    StepRows&, PlaneShape const&, RowSpan const&, std::uint32_t, WriteStyle) noexcept;
template Status ToyEngine::write_draft(
    StepRows&, PlaneShape const&, WriteWork const&, std::uint32_t, WriteStyle) noexcept;

}  // namespace holdfast::model
