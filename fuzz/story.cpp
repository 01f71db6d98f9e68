// SPDX-License-Identifier: Apache-2.0
// Collects the pictures.
#include "fuzz/story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "fuzz/op_fields.hpp"
#include "models/trace.hpp"

namespace holdfast::fuzz {
namespace {

using invariant::Check;
using invariant::PlaneBinding;

/// Pages of a table that somebody else holds as well.
std::uint32_t shared_pages(Check const& check,
                           PlaneBinding const& plane,
                           Holder holder,
                           std::uint32_t pages) {
  std::uint32_t shared = 0;
  for (std::uint32_t entry = 0; entry < pages; ++entry) {
    std::uint32_t const page = check.inspection.page(holder, plane.index, entry);
    bool is_shared = page != 0 && check.inspection.page_references(plane.index, page) > 1;
    if (plane.info.chunk_pages != 0) {
      std::uint32_t const chunk =
          check.inspection.chunk(holder, plane.index, entry / plane.info.chunk_pages);
      is_shared = is_shared || check.inspection.chunk_references(plane.index, chunk) > 1;
    }
    shared += is_shared ? 1 : 0;
  }
  return shared;
}

PlanePicture picture_of(Check const& check,
                        PlaneBinding const& plane,
                        model::Label name,
                        std::uint32_t position,
                        model::History const& history) {
  PlaneState const state = state_of(check, name, plane.index);
  if (check.internals == nullptr) {
    return {.length = state.length, .must = plane.rows_of(history), .lo = state.lo};
  }
  Holder const holder = check.holder(name);
  if (plane.info.page_rows == 0) {
    bool const shared =
        state.slot != 0 && check.inspection.page_references(plane.index, state.slot) > 1;
    return {.length = position,
            .must = static_cast<std::uint32_t>(history.tokens.size()),
            .shared = shared ? 1U : 0U,
            .slot = state.slot};
  }
  return {.length = state.length,
          .must = plane.rows_of(history),
          .lo = state.lo,
          .pages = state.pages,
          .shared = shared_pages(check, plane, holder, state.pages)};
}

/// Watches one program.
class Teller {
 public:
  explicit Teller(Story& story) : story_{story} {}

  void look(Check const& check) {
    if (story_.planes.empty()) {
      name_planes(check);
    }
    Moment moment{.text = model::text_of(*check.op),
                  .kind = std::string{model::name_of(*check.op)},
                  .answer = text_of(check.got)};
    if (!(check.want == check.got)) {
      moment.want = text_of(check.want);
    }
    for_each_sequence(check, [&](model::SequenceName name, model::History const& history) {
      SequenceInfo const info = info_of(check, name);
      SequencePicture picture{.name = name.value,
                              .position = info.position,
                              .must = static_cast<std::uint32_t>(history.tokens.size()),
                              .open_rows = info.open_rows,
                              .open = info.open,
                              .round = info.round,
                              .tainted = info.tainted};
      for (PlaneBinding const& plane : check.planes) {
        picture.planes.push_back(
            picture_of(check, plane, model::label(name), info.position, history));
      }
      moment.sequences.push_back(std::move(picture));
    });
    story_.moments.push_back(std::move(moment));
    note_held(check);
  }

 private:
  void name_planes(Check const& check) {
    for (PlaneBinding const& plane : check.planes) {
      std::size_t const layers = plane.info.layers.size();
      bool const has_rows = check.internals == nullptr && plane.reference != nullptr;
      story_.planes.push_back(
          {.name = plane.info.name,
           .layers = fmt::format("{} {}", layers, layers == 1 ? "layer" : "layers"),
           .unit_tokens = plane.info.unit_tokens,
           .page_rows = has_rows ? check.model.shape().page_rows : plane.info.page_rows,
           .ring_rows = plane.info.ring_rows});
    }
  }

  /// The sequence that a name stands for, or that what it names was made of.
  [[nodiscard]] std::optional<std::uint32_t> sequence_behind(NameUse const& use) const {
    if (use.kind == NameKind::kSequence) {
      return use.value;
    }
    char const prefix = use.kind == NameKind::kSnapshot ? 'h' : 'e';
    std::string const label = prefix + std::to_string(use.value);
    for (HeldPicture const& held : story_.held) {
      if (held.label == label) {
        return held.sequence;
      }
    }
    return std::nullopt;
  }

  /// Begins and ends what is held unchanged.
  void note_held(Check const& check) {
    auto const now = static_cast<std::uint32_t>(story_.moments.size() - 1);
    std::vector<std::string> live;
    for_each_held(check, [&](model::Label label, model::History const& history) {
      live.push_back(label.text());
      if (std::find(open_.begin(), open_.end(), live.back()) == open_.end()) {
        HeldPicture held{.label = live.back(),
                         .position = static_cast<std::uint32_t>(history.tokens.size()),
                         .first = now};
        for (NameUse const& use : names_in(*check.op)) {
          if (!held.sequence) {
            held.sequence = sequence_behind(use);
          }
        }
        story_.held.push_back(std::move(held));
      }
    });
    for (HeldPicture& held : story_.held) {
      if (!held.last && std::find(live.begin(), live.end(), held.label) == live.end()) {
        held.last = now;
      }
    }
    open_ = std::move(live);
  }

  Story& story_;
  std::vector<std::string> open_;
};

}  // namespace

Story tell_story(model::Geometry const& geometry,
                 std::span<model::AnyOp const> ops,
                 model::DeviceChoice device,
                 bool compare) {
  Story story{.geometry = model::label(geometry), .device = model::text_of(device)};
  Teller teller{story};
  Runner runner{geometry,
                {.compare = compare,
                 .keep_log = true,
                 .watch_one_in = 1,
                 .device = device,
                 .on_look = [&](Check const& check) { teller.look(check); }}};
  ProgramResult const result = runner.run_ops(ops);
  for (std::size_t i = story.moments.size(); i < runner.ops().size(); ++i) {
    // The library stopped in the middle of it.
    model::AnyOp const& op = runner.ops()[i];
    story.moments.push_back({.text = model::text_of(op),
                             .kind = std::string{model::name_of(op)},
                             .answer = "no answer"});
  }
  story.failure = result.failure;
  return story;
}

std::optional<std::uint32_t> sequence_of_failure(Story const& story) {
  if (!story.failure) {
    return std::nullopt;
  }
  for (invariant::Violation const& violation : story.failure->violations) {
    std::string const& holder = violation.holder;
    std::uint32_t name = 0;
    if (holder.size() > 1 && holder[0] == 's' &&
        std::from_chars(holder.data() + 1, holder.data() + holder.size(), name).ec == std::errc{}) {
      return name;
    }
    for (HeldPicture const& held : story.held) {
      if (held.label == holder && held.sequence) {
        return held.sequence;
      }
    }
  }
  return std::nullopt;
}

}  // namespace holdfast::fuzz
