// SPDX-License-Identifier: Apache-2.0
// A program told step by step: what every plane of every sequence was after each operation, beside
// what it must have been; and as a page for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/runner.hpp"

namespace holdfast::fuzz {

/// One plane class of a sequence after an operation.
struct PlanePicture {
  std::uint32_t length = 0;  ///< rows, in the plane's own unit; of slots the position
  std::uint32_t must = 0;    ///< rows that the model says
  std::uint32_t lo = 0;      ///< first row that is resident; not 0 in rings alone
  std::uint32_t pages = 0;
  std::uint32_t shared = 0;  ///< of them that somebody else holds as well
  std::uint32_t slot = 0;    ///< of planes with state slots
};

/// One sequence after an operation.
struct SequencePicture {
  std::uint32_t name = 0;
  std::uint32_t position = 0;  ///< committed rows, as the library has them
  std::uint32_t must = 0;      ///< as the model has them
  std::uint32_t open_rows = 0;
  bool open = false;
  bool round = false;
  bool tainted = false;
  std::vector<PlanePicture> planes;  ///< by plane class
};

/// After one operation.
struct Moment {
  std::string text;                        ///< the operation, as traces have it
  std::string kind;                        ///< its name
  std::string answer;                      ///< "ok(3)", the name of an error, "no answer"
  std::string want;                        ///< what the model says, where that differs
  std::vector<SequencePicture> sequences;  ///< that are live
};

/// A snapshot or prefix entry, from its making to its end.
struct HeldPicture {
  std::string label;                      ///< "h0", "e1"
  std::optional<std::uint32_t> sequence;  ///< that it was made of
  std::uint32_t position = 0;             ///< rows
  std::uint32_t first = 0;                ///< moment
  std::optional<std::uint32_t> last;      ///< moment that ended it; none: it was there to the end
};

/// A plane class, for its band.
struct PlaneStory {
  std::string name;
  std::string layers;  ///< "3 layers"
  std::uint32_t unit_tokens = 1;
  std::uint32_t page_rows = 0;  ///< 0: it has state slots
  std::uint32_t ring_rows = 0;
};

/// A whole program.
struct Story {
  std::string geometry;
  std::string device;
  std::vector<PlaneStory> planes;
  std::vector<Moment> moments;
  std::vector<HeldPicture> held;
  std::optional<Failure> failure;
};

/// What a page says besides the story.
struct StoryFrame {
  std::string title;      ///< of the file
  std::string mutant;     ///< that was on; empty: none
  std::string reproduce;  ///< command
};

/// Runs a program and looks on.
[[nodiscard]] Story tell_story(model::Geometry const& geometry,
                               std::span<model::AnyOp const> ops,
                               model::DeviceChoice device,
                               bool compare);

/// One page of HTML that needs nothing else: no script, no network.
[[nodiscard]] std::string story_page(Story const& story, StoryFrame const& frame);

/// Fixed columns for a terminal, the sequences that the violation is about, or all.
[[nodiscard]] std::string story_text(Story const& story, StoryFrame const& frame);

/// The sequence that the first violation names; none when it names none.
[[nodiscard]] std::optional<std::uint32_t> sequence_of_failure(Story const& story);

}  // namespace holdfast::fuzz
