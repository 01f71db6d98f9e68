// SPDX-License-Identifier: Apache-2.0
// The same for a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "fuzz/run.hpp"
#include "fuzz/story.hpp"

namespace holdfast::fuzz {
namespace {

constexpr std::size_t kOperation = 44;
constexpr std::size_t kCell = 13;

std::string cut(std::string text, std::size_t width) {
  if (text.size() > width) {
    text.resize(width - 3);
    text += "...";
  }
  return text;
}

/// "12", "12!10" where 10 must be, "4-12" of a ring, "#3" of a slot; "*" for shared.
std::string cell(PlaneStory const& about, PlanePicture const& is) {
  std::string text;
  if (about.page_rows == 0) {
    text = is.slot == 0 ? "-" : fmt::format("#{}", is.slot);
  } else {
    text = is.lo != 0 ? fmt::format("{}-{}", is.lo, is.length) : std::to_string(is.length);
    if (is.length != is.must) {
      text += fmt::format("!{}", is.must);
    }
  }
  return is.shared != 0 ? text + "*" : text;
}

void add_row(Story const& story,
             std::size_t index,
             SequencePicture const* sequence,
             bool is_first,
             std::string& out) {
  Moment const& moment = story.moments[index];
  bool const bad = story.failure && story.failure->op_index == index;
  out += fmt::format("{}{:>4}  {:<{}}  {:<4}",
                     bad && is_first ? '>' : ' ',
                     is_first ? std::to_string(index) : "",
                     is_first ? cut(moment.text, kOperation) : "",
                     kOperation,
                     sequence == nullptr ? "" : fmt::format("s{}", sequence->name));
  if (sequence != nullptr) {
    out += fmt::format(" {:>6}", sequence->position);
    for (std::size_t plane = 0; plane < sequence->planes.size(); ++plane) {
      out += fmt::format(" {:>{}}", cell(story.planes[plane], sequence->planes[plane]), kCell);
    }
  }
  while (!out.empty() && out.back() == ' ') {
    out.pop_back();
  }
  out += '\n';
}

}  // namespace

std::string story_text(Story const& story, StoryFrame const& frame) {
  auto const only = sequence_of_failure(story);
  std::string out = fmt::format("{}, geometry {}, device {}{}\n\n",
                                frame.title,
                                story.geometry,
                                story.device,
                                frame.mutant.empty() ? "" : ", seeded bug " + frame.mutant);
  out += fmt::format("{:>5}  {:<{}}  {:<4} {:>6}", "", "operation", kOperation, "of", "rows");
  for (PlaneStory const& plane : story.planes) {
    out += fmt::format(" {:>{}}", cut(plane.name, kCell), kCell);
  }
  out += '\n';
  for (std::size_t index = 0; index < story.moments.size(); ++index) {
    bool is_first = true;
    for (SequencePicture const& sequence : story.moments[index].sequences) {
      if (!only || sequence.name == *only) {
        add_row(story, index, &sequence, is_first, out);
        is_first = false;
      }
    }
    if (is_first) {
      add_row(story, index, nullptr, true, out);
    }
  }
  out +=
      "\n  12!10: it has 12 rows and must have 10    4-12: rows 4 to 11 of a ring    #3: state "
      "slot 3"
      "    *: shared\n";
  if (story.failure) {
    out += '\n';
    for (invariant::Violation const& violation : story.failure->violations) {
      out += fmt::format("{}  {}{}{}\n",
                         violation.id,
                         violation.holder,
                         violation.holder.empty() ? "" : ": ",
                         violation.text);
    }
  } else {
    out += "\nAll held.\n";
  }
  return out + "\n" + frame.reproduce + "\n";
}

}  // namespace holdfast::fuzz
