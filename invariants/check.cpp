// SPDX-License-Identifier: Apache-2.0
// Comparing rows and states with the model, and saying whose they are.
#include "invariants/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace holdfast::invariant {
namespace {

std::string found_text(model::Model const& model,
                       model::PlaneShape const& shape,
                       std::string const& what,
                       float const* got,
                       float const* want,
                       std::uint32_t element) {
  return what + " differs at element " + std::to_string(element) + ": found " +
         std::to_string(got[element]) + ", must be " + std::to_string(want[element]) + "; " +
         describe_token(model, model::token_of_row(shape, got));
}

std::string on_rank(char const* what, std::uint32_t ranks, std::uint32_t rank) {
  return ranks == 1 ? what : what + (" on rank " + std::to_string(rank));
}

std::uint32_t first_difference(float const* a, float const* b, std::uint32_t count) {
  std::uint32_t element = 0;
  while (element < count && std::memcmp(a + element, b + element, sizeof(float)) == 0) {
    ++element;
  }
  return element;
}

/// Poison among visible bytes is FIRST's matter as well as that of who compares them. It is a NaN in
/// every format, and the engine writes none.
void add_poison(Report& report, float found, Violation const& like) {
  if (std::isnan(found)) {
    report.add({.id = "FIRST",
                .plane = like.plane,
                .layer = like.layer,
                .position = like.position,
                .holder = like.holder,
                .text = "visible bytes were not written since their page or slot was free"});
  }
}

std::string no_page_text(Check const& check,
                         PlaneBinding const& plane,
                         model::History const& history,
                         model::RowRange rows) {
  std::size_t const position = std::size_t{rows.first} * plane.info.unit_tokens;
  return "rows " + std::to_string(rows.first) + " to " + std::to_string(rows.last - 1) +
         " do not all have a page; for the first of them " +
         describe_token(check.model, history.tokens[position]);
}

/// Whose held side state it is: its first element is the last token.
std::string describe_held(model::Model const& model, float token) {
  constexpr float kTokenLimit = 1U << 24U;  // exact in an f32
  bool const is_token = token >= 0.0F && token < kTokenLimit;
  return is_token ? describe_token(model, static_cast<model::Token>(token)) : "it is no token";
}

}  // namespace

SequenceInfo info_of(Check const& check, model::SequenceName name) {
  if (check.internals != nullptr) {
    return check.inspection.sequence(check.holder(name).index);
  }
  model::SequenceLook const look = check.visible.sequence(name);
  return {.live = look.live,
          .tainted = look.tainted,
          .open = look.open,
          .round = look.round,
          .position = look.position,
          .open_rows = look.open_rows};
}

PlaneState state_of(Check const& check, Label name, std::uint32_t plane) {
  if (check.internals != nullptr) {
    return check.inspection.state(check.holder(name), plane);
  }
  model::PlaneLook const look = check.visible.plane(name, plane);
  return {.length = look.length, .lo = look.resident};
}

void states_of(Check const& check, Label name, std::span<PlaneState> out) {
  if (check.internals != nullptr) {
    check.inspection.plane_states(check.holder(name), out);
    return;
  }
  for (std::uint32_t plane = 0; plane < out.size(); ++plane) {
    out[plane] = state_of(check, name, plane);
  }
}

std::string name_of(model::SequenceName name) {
  return label(name).text();
}
std::string name_of(model::SnapshotName name) {
  return label(name).text();
}

std::string describe_token(model::Model const& model, model::Token token) {
  if (token == 0) {
    return "it is no row of this program (never written, or not rows)";
  }
  auto const* const record = model.record_of(token);
  if (record == nullptr) {
    return "it carries token " + std::to_string(token);
  }
  std::string text = "it is the row of s" + std::to_string(record->sequence) + " for position " +
                     std::to_string(record->position) + " (token " + std::to_string(token) +
                     "), written by operation " + std::to_string(record->written_by);
  if (record->removed_by != UINT32_MAX) {
    text += " and removed by operation " + std::to_string(record->removed_by);
  }
  return text;
}

std::string describe_length(Check const& check,
                            PlaneBinding const& plane,
                            Label name,
                            model::History const& history,
                            std::uint32_t found,
                            std::uint32_t must) {
  if (found == must) {
    return {};
  }
  std::string const row = "row " + std::to_string(std::min(found, must));
  if (found < must) {
    std::size_t const position = std::size_t{found} * plane.info.unit_tokens;
    return position < history.tokens.size()
               ? "; " + row +
                     " is missing: " + describe_token(check.model, history.tokens[position])
               : std::string{};
  }
  if (plane.reference == nullptr || plane.info.unit_tokens != 1) {
    return "; " + row + " is stale";
  }
  std::vector<float> stale(plane.info.row_elements);
  bool const read =
      check.visible.read_rows(name, {.plane = plane.index, .first = must, .count = 1}, stale);
  model::PlaneShape const& shape = check.model.shape().planes[plane.model_planes[0]];
  return "; " + row + " is stale: " +
         (read ? describe_token(check.model, model::token_of_row(shape, stale.data()))
               : "it has no page");
}

/// Expected rows of one rank, one after the other.
void expect_rows(PlaneBinding const& plane,
                 model::PlaneShape const& shape,
                 model::HistoryView const& view,
                 model::RowRange rows,
                 std::uint32_t ranks,
                 std::uint32_t rank,
                 float* out) {
  float whole[model::kWidestRow];
  for (std::uint32_t row = rows.first; row < rows.last; ++row, out += plane.info.row_elements) {
    if (ranks == 1) {
      plane.reference->expect(shape, view, row, out);
    } else {
      plane.reference->expect(shape, view, row, whole);
      take_shard(shape, whole, ranks, rank, out);
    }
  }
}

bool check_rows(Check const& check,
                Report& report,
                char const* id,
                PlaneBinding const& plane,
                Label name,
                model::History const& history,
                model::RowRange rows,
                When when) {
  if (rows.first >= rows.last || (when == When::kSettled && !check.settled)) {
    return true;
  }
  static thread_local std::vector<float> got;
  static thread_local std::vector<float> want;
  std::uint32_t const elements = plane.info.row_elements;
  std::uint32_t const count = rows.last - rows.first;
  std::uint32_t const ranks = check.model.shape().ranks;
  got.resize(std::size_t{count} * elements);
  want.resize(got.size());
  for (std::uint32_t i = 0; i < ranks * plane.model_planes.size(); ++i) {
    std::uint32_t const layer_index = i / ranks;
    std::uint32_t const rank = i % ranks;
    std::uint32_t const model_plane = plane.model_planes[layer_index];
    model::PlaneShape const& shape = check.model.shape().planes[model_plane];
    model::HistoryView const view = check.model.view(history, model_plane);
    bool const read = check.visible.read_rows(name,
                                              {.plane = plane.index,
                                               .layer_index = layer_index,
                                               .first = rows.first,
                                               .count = count,
                                               .rank = rank},
                                              got);
    expect_rows(plane, shape, view, rows, ranks, rank, want.data());
    if (read && std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0) {
      continue;
    }
    std::size_t const at =
        read ? first_difference(got.data(), want.data(), static_cast<std::uint32_t>(got.size()))
             : 0;
    auto const row = static_cast<std::uint32_t>(at / elements);
    Violation violation{.id = id,
                        .plane = plane.info.name,
                        .layer = shape.layer,
                        .position = (std::int64_t{rows.first} + row) * plane.info.unit_tokens,
                        .holder = name.text(),
                        .text = read ? found_text(check.model,
                                                  shape,
                                                  on_rank("the row", ranks, rank),
                                                  &got[std::size_t{row} * elements],
                                                  &want[std::size_t{row} * elements],
                                                  static_cast<std::uint32_t>(at % elements))
                                     : no_page_text(check, plane, history, rows)};
    if (read) {
      add_poison(report, got[at], violation);
    }
    report.add(std::move(violation));
    return false;
  }
  return true;
}

void check_touched_rows(Check const& check,
                        Report& report,
                        char const* id,
                        bool (*is_mine)(PlaneBinding const& plane) noexcept) {
  if (!check.touched) {
    return;
  }
  model::History const& history = check.model.history(check.model.sequence(*check.subject));
  for (PlaneBinding const& plane : check.planes) {
    model::RowRange rows{plane.units(check.touched_first), plane.units(check.touched_last)};
    if (plane.is_draft()) {
      // From where the draft was, or the last page of what it took.
      rows = {check.before.live ? check.before.planes[plane.index].length : 0, history.watermark};
      std::uint32_t const page = rows.last == 0 ? 0
                                                : (rows.last - 1) / check.model.shape().page_rows *
                                                      check.model.shape().page_rows;
      rows.first = std::min(rows.first, page);
    }
    if (is_mine(plane) &&
        !check_rows(check, report, id, plane, label(*check.subject), history, rows)) {
      return;
    }
  }
}

void check_all_rows(Check const& check,
                    Report& report,
                    char const* id,
                    bool (*is_mine)(PlaneBinding const& plane) noexcept) {
  for_each_sequence(check, [&](model::SequenceName name, model::History const& history) {
    for (PlaneBinding const& plane : check.planes) {
      if (report.is_clean() && is_mine(plane) && !check.model.sequence(name).tainted) {
        check_rows(check, report, id, plane, label(name), history, {0, plane.rows_of(history)});
      }
    }
  });
}

bool check_state(Check const& check,
                 Report& report,
                 char const* id,
                 Label name,
                 model::History const& history,
                 When when) {
  model::ModelShape const& shape = check.model.shape();
  if (shape.states.empty() || (when == When::kSettled && !check.settled)) {
    return true;
  }
  static thread_local std::vector<float> got;
  static thread_local std::vector<float> shard;
  got.resize(shape.shard_state_elements);
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    float const* want = history.state.data();
    if (shape.ranks != 1) {
      shard.resize(got.size());
      want = shard.data();
      for (std::uint32_t i = 0; i < shape.states.size(); ++i) {
        take_shard(shape.states[i],
                   history.state.data() + shape.state_offsets[i],
                   shape.ranks,
                   rank,
                   shard.data() + shape.shard_offsets[i]);
      }
    }
    bool const read = check.visible.read_state(name, rank, got);
    if (read && std::memcmp(got.data(), want, got.size() * sizeof(float)) == 0) {
      continue;
    }
    Violation violation{.id = id,
                        .plane = holdfast::name_of(shape.states.front().kind),
                        .position = static_cast<std::int64_t>(history.tokens.size()),
                        .holder = name.text(),
                        .text = "there is no state to read"};
    for (std::uint32_t i = 0; read && i < shape.states.size(); ++i) {
      model::StateShape const& state = shape.states[i];
      std::uint32_t const offset = shape.shard_offsets[i];
      std::uint32_t const elements = shard_elements(state, shape.ranks);
      std::uint32_t const element = first_difference(got.data() + offset, want + offset, elements);
      if (element < elements) {
        bool const conv = element < state.conv_elements() / shape.ranks;
        bool const held = state.kind == PlaneKind::kHeld;
        char const* const what = held   ? "the held side state"
                                 : conv ? "the conv window"
                                        : "the ssm state";
        violation.plane = holdfast::name_of(state.kind);
        violation.layer = state.layer;
        violation.text = on_rank(what, shape.ranks, rank) + " is not that of the sequence's " +
                         std::to_string(history.tokens.size()) + " accepted tokens: element " +
                         std::to_string(element) + " is " + std::to_string(got[offset + element]) +
                         ", must be " + std::to_string(want[offset + element]);
        if (held && element == 0) {
          violation.text += "; " + describe_held(check.model, got[offset]);
        }
        add_poison(report, got[offset + element], violation);
        break;
      }
    }
    report.add(std::move(violation));
    return false;
  }
  return true;
}

void add_place(std::span<PlaneBinding const> planes,
               model::ByteRange const& range,
               std::vector<Place>& places) {
  PlaneBinding const* plane = nullptr;
  std::byte const* arena = nullptr;
  auto const look_in = [&](PlaneBinding const& candidate) {
    for (std::byte const* const base : candidate.bases) {
      if (range.base >= base && range.base < base + candidate.arena_bytes) {
        plane = &candidate;
        arena = base;
      }
    }
  };
  if (!places.empty()) {
    look_in(*places.back().plane);  // ranges of one plane come one after the other
  }
  for (std::size_t i = 0; i < planes.size() && plane == nullptr; ++i) {
    look_in(planes[i]);
  }
  if (plane == nullptr) {
    return;
  }
  PlaneInfo const& info = plane->info;
  auto const offset = static_cast<std::uint64_t>(range.base - arena);
  auto const page = static_cast<std::uint32_t>(offset / info.page_bytes);
  std::uint32_t first_row = 0;
  std::uint32_t last_row = 0;
  if (info.page_rows != 0) {
    // A page is far below 4 GiB, and divisions of 64 bits are slow.
    auto const in_page = static_cast<std::uint32_t>(offset - page * info.page_bytes);
    auto const bytes = static_cast<std::uint32_t>(range.bytes);
    std::uint32_t const in_layer = in_page % static_cast<std::uint32_t>(info.strips.layer_bytes);
    std::uint32_t strip = info.strips.count;
    while (strip > 1 && info.strips[strip - 1].offset > in_layer) {
      --strip;
    }
    Strip const& own = info.strips[strip - 1];
    std::uint32_t const in_strip = in_layer - static_cast<std::uint32_t>(own.offset);
    first_row = in_strip / own.row_bytes;
    last_row = (in_strip + bytes + own.row_bytes - 1) / own.row_bytes;
  }
  // Only ranges that touch become one, since a ring's page is written around its live rows; the
  // last few places are where a layer's next range belongs.
  constexpr std::size_t kLookBack = 16;
  std::size_t const oldest = places.size() - std::min(places.size(), kLookBack);
  for (std::size_t i = places.size(); i-- > oldest;) {
    Place& place = places[i];
    if (place.page == page && place.plane == plane && first_row <= place.last_row &&
        place.first_row <= last_row) {
      place.first_row = std::min(place.first_row, first_row);
      place.last_row = std::max(place.last_row, last_row);
      return;
    }
  }
  Place& place = places.emplace_back();
  place.plane = plane;
  place.page = page;
  place.first_row = first_row;
  place.last_row = last_row;
}

}  // namespace holdfast::invariant
