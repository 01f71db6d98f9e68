// SPDX-License-Identifier: Apache-2.0
// The drawing of a story: time to the right, a band for each plane of each sequence.
#include "fuzz/story_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fuzz/markup.hpp"

namespace holdfast::fuzz {
namespace {

// All in units of the drawing, which are pixels at its natural size.
constexpr std::uint32_t kWidth = 1128;   // that a program should fill
constexpr std::uint32_t kNarrowest = 9;  // column of an operation
constexpr std::uint32_t kWidest = 132;
constexpr std::uint32_t kLeft = 168;  // labels
constexpr std::uint32_t kRight = 56;  // what the last column's labels need
constexpr std::uint32_t kAxis = 96;   // names of the operations
constexpr std::uint32_t kBand = 52;   // a plane of a sequence
constexpr std::uint32_t kSlotBand = 26;
constexpr std::uint32_t kGap = 8;
constexpr std::uint32_t kHead = 30;     // of a sequence
constexpr std::uint32_t kBracket = 20;  // one lane of brackets

/// Where a sequence's part of the drawing lies.
struct Lane {
  std::uint32_t name = 0;
  std::uint32_t top = 0;
  std::uint32_t bracket_lanes = 0;
};

/// A bracket: an open handle, or something that holds.
struct Bracket {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool ends = true;  ///< else it goes on to the right
  std::string text;
  char const* look = "";
  std::uint32_t lane = 0;
};

class Drawing {
 public:
  explicit Drawing(Story const& story) : story_{story} {
    auto const count = static_cast<std::uint32_t>(story.moments.size());
    column_ = std::clamp((kWidth - kLeft - kRight) / std::max(count, 1U), kNarrowest, kWidest);
    for (Moment const& moment : story.moments) {
      for (SequencePicture const& sequence : moment.sequences) {
        for (std::size_t plane = 0; plane < sequence.planes.size(); ++plane) {
          PlanePicture const& picture = sequence.planes[plane];
          tallest_ = std::max({tallest_,
                               picture.length * story.planes[plane].unit_tokens,
                               picture.must * story.planes[plane].unit_tokens});
        }
      }
    }
    place_sequences();
  }

  std::string svg() {
    for (Lane const& lane : lanes_) {
      draw_sequence(lane);
    }
    draw_failure();
    draw_axis();
    return fmt::format(
        "<svg role=\"img\" aria-label=\"The program, time to the right\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n{2}</svg>\n",
        kLeft + columns() * column_ + kRight,
        height_,
        out_);
  }

 private:
  [[nodiscard]] std::uint32_t columns() const {
    return static_cast<std::uint32_t>(story_.moments.size());
  }
  [[nodiscard]] std::uint32_t x(std::uint32_t moment) const { return kLeft + moment * column_; }
  template <typename... Values>
  void draw(fmt::format_string<Values...> text, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Values>(values)...);
  }

  [[nodiscard]] SequencePicture const* picture(std::uint32_t moment, std::uint32_t name) const {
    for (SequencePicture const& sequence : story_.moments[moment].sequences) {
      if (sequence.name == name) {
        return &sequence;
      }
    }
    return nullptr;
  }
  [[nodiscard]] static std::uint32_t height_of(PlaneStory const& plane) {
    return plane.page_rows == 0 ? kSlotBand : kBand;
  }

  /// The one that the violation is about comes first.
  void place_sequences() {
    std::vector<std::uint32_t> names;
    if (auto const failing = sequence_of_failure(story_)) {
      names.push_back(*failing);
    }
    for (std::uint32_t moment = 0; moment < columns(); ++moment) {
      for (SequencePicture const& sequence : story_.moments[moment].sequences) {
        if (std::find(names.begin(), names.end(), sequence.name) == names.end()) {
          names.push_back(sequence.name);
        }
      }
    }
    std::uint32_t top = kAxis;
    for (std::uint32_t const name : names) {
      std::vector<Bracket> brackets = brackets_of(name);
      Lane lane{.name = name, .top = top, .bracket_lanes = stack(brackets)};
      top += kHead + lane.bracket_lanes * kBracket + kGap;
      for (PlaneStory const& plane : story_.planes) {
        top += height_of(plane) + kGap;
      }
      brackets_[name] = std::move(brackets);
      lanes_.push_back(lane);
    }
    height_ = top + kGap;
  }

  [[nodiscard]] std::vector<Bracket> brackets_of(std::uint32_t name) const {
    std::vector<Bracket> brackets;
    bool was_open = false;
    for (std::uint32_t moment = 0; moment < columns(); ++moment) {
      SequencePicture const* const sequence = picture(moment, name);
      bool const is_open = sequence != nullptr && sequence->open;
      if (is_open && !was_open) {
        brackets.push_back({.first = moment,
                            .last = columns(),
                            .ends = false,
                            .text = fmt::format(
                                "{} {}", sequence->round ? "round" : "append", sequence->open_rows),
                            .look = sequence->round ? "round" : "append"});
      } else if (!is_open && was_open) {
        brackets.back().last = moment;
        brackets.back().ends = true;
      }
      was_open = is_open;
    }
    for (HeldPicture const& held : story_.held) {
      if (held.sequence == name) {
        brackets.push_back({.first = held.first,
                            .last = held.last.value_or(columns()),
                            .ends = held.last.has_value(),
                            .text = fmt::format("{} at {}", held.label, held.position),
                            .look = is_broken(held) ? "broke" : "holds"});
      }
    }
    return brackets;
  }

  [[nodiscard]] bool is_broken(HeldPicture const& held) const {
    return story_.failure &&
           std::any_of(story_.failure->violations.begin(),
                       story_.failure->violations.end(),
                       [&](auto const& violation) { return violation.holder == held.label; });
  }

  /// Gives each bracket the first lane where it fits, its text included. Returns how many there are.
  [[nodiscard]] std::uint32_t stack(std::vector<Bracket>& brackets) const {
    std::vector<std::uint32_t> ends;  // x, by lane
    std::sort(brackets.begin(), brackets.end(), [](Bracket const& a, Bracket const& b) {
      return a.first < b.first;
    });
    for (Bracket& bracket : brackets) {
      constexpr std::uint32_t kLetter = 7;
      auto const text = static_cast<std::uint32_t>(bracket.text.size()) * kLetter + 14;
      std::uint32_t const end = std::max(x(bracket.last) + column_, x(bracket.first) + text);
      auto const free = std::find_if(
          ends.begin(), ends.end(), [&](std::uint32_t taken) { return taken <= x(bracket.first); });
      bracket.lane = static_cast<std::uint32_t>(free - ends.begin());
      if (free == ends.end()) {
        ends.push_back(end);
      } else {
        *free = end;
      }
    }
    return static_cast<std::uint32_t>(ends.size());
  }

  void draw_brackets(Lane const& lane) {
    for (Bracket const& bracket : brackets_[lane.name]) {
      std::uint32_t const y = lane.top + kHead + bracket.lane * kBracket + 4;
      std::uint32_t const from = x(bracket.first) + column_ / 2;
      std::uint32_t const to = bracket.ends ? x(bracket.last) + column_ / 2 : x(columns()) + 6;
      draw("<path class=\"{}\" d=\"M{} {}V{}H{}{}\"/>",
           bracket.look,
           from,
           y + 12,
           y,
           to,
           bracket.ends ? fmt::format("V{}", y + 12) : "");
      draw("<text class=\"{}t\" x=\"{}\" y=\"{}\">{}</text>\n",
           bracket.look,
           from + 4,
           y + 12,
           bracket.text);
    }
  }

  void draw_sequence(Lane const& lane) {
    draw("<text class=\"name\" x=\"12\" y=\"{}\">sequence s{}</text>\n", lane.top + 20, lane.name);
    draw("<path class=\"frame\" d=\"M12 {0}H{1}\"/>\n", lane.top + 2, x(columns()));
    draw_brackets(lane);
    std::uint32_t top = lane.top + kHead + lane.bracket_lanes * kBracket + kGap;
    for (std::uint32_t plane = 0; plane < story_.planes.size(); ++plane) {
      PlaneStory const& about = story_.planes[plane];
      std::uint32_t const height = height_of(about);
      draw("<text class=\"plane\" x=\"12\" y=\"{}\">{}</text>", top + 14, markup_text(about.name));
      if (about.page_rows != 0) {
        draw("<text x=\"12\" y=\"{}\">{}</text>", top + 28, note_of(about));
      }
      draw("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
           kLeft,
           top,
           columns() * column_,
           height);
      if (about.page_rows == 0) {
        draw_slots(lane.name, plane, top);
      } else {
        draw_rows(lane.name, plane, top);
      }
      note_broken(lane.name, plane, top, height);
      top += height + kGap;
    }
  }

  [[nodiscard]] static std::string note_of(PlaneStory const& plane) {
    std::string text = plane.layers;
    if (plane.ring_rows != 0) {
      text += fmt::format(", ring of {}", plane.ring_rows);
    } else if (plane.unit_tokens != 1) {
      text += fmt::format(", 1 key of {}", plane.unit_tokens);
    }
    return text;
  }

  /// Calls `run(first, last, picture)` for columns with equal pictures.
  template <typename Run>
  void for_each_run(std::uint32_t name, std::uint32_t plane, Run run) const {
    std::uint32_t moment = 0;
    while (moment < columns()) {
      SequencePicture const* const sequence = picture(moment, name);
      if (sequence == nullptr) {
        ++moment;
        continue;
      }
      PlanePicture const& first = sequence->planes[plane];
      std::uint32_t last = moment + 1;
      for (; last < columns(); ++last) {
        SequencePicture const* const next = picture(last, name);
        if (next == nullptr || !is_alike(first, next->planes[plane])) {
          break;
        }
      }
      run(moment, last, first);
      moment = last;
    }
  }
  [[nodiscard]] static bool is_alike(PlanePicture const& a, PlanePicture const& b) {
    return a.length == b.length && a.must == b.must && a.lo == b.lo && a.shared == b.shared &&
           a.slot == b.slot;
  }

  /// Where a position lies in the band that begins at `top`.
  [[nodiscard]] double y_of(std::uint32_t tokens, std::uint32_t top) const {
    double const share = tallest_ == 0 ? 0 : static_cast<double>(tokens) / tallest_;
    return static_cast<double>(top + kBand - 1) - share * (kBand - 6);
  }

  /// From the bottom up: shared rows, own rows, the length that must be, and what differs.
  void draw_rows(std::uint32_t name, std::uint32_t plane, std::uint32_t top) {
    PlaneStory const& about = story_.planes[plane];
    auto const y = [&](std::uint32_t rows) { return y_of(rows * about.unit_tokens, top); };
    auto const bar = [&](char const* look,
                         std::uint32_t first,
                         std::uint32_t last,
                         std::uint32_t from,
                         std::uint32_t to) {
      if (from < to) {
        draw("<rect class=\"{}\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>",
             look,
             x(first),
             y(to),
             (last - first) * column_,
             y(from) - y(to));
      }
    };
    std::string line;
    std::uint32_t drawn = UINT32_MAX;
    for_each_run(name, plane, [&](std::uint32_t first, std::uint32_t last, PlanePicture const& is) {
      std::uint32_t const right = std::min(is.length, is.must);
      std::uint32_t const shared = about.ring_rows != 0
                                       ? (is.shared == is.pages ? right : is.lo)
                                       : std::min(right, is.shared * about.page_rows);
      bar("shared", first, last, std::min(is.lo, shared), shared);
      bar("own", first, last, std::max(is.lo, shared), right);
      bar("wrong", first, last, right, std::max(is.length, is.must));
      say_wrong(x(first), (last - first) * column_, y(std::max(is.length, is.must)), is);
      line +=
          fmt::format("{}{} {:.1f}H{}", first == drawn ? "L" : "M", x(first), y(is.must), x(last));
      drawn = last;
    });
    draw("<path class=\"must\" d=\"{}\"/>\n", line);
  }

  void say_wrong(std::uint32_t left, std::uint32_t width, double top, PlanePicture const& is) {
    std::string const text = fmt::format("{}, not {}", is.length, is.must);
    if (is.length != is.must && width >= 7 * text.size() + 8) {
      draw("<text class=\"onwrong\" x=\"{}\" y=\"{:.1f}\">{}</text>", left + 5, top + 12, text);
    }
  }

  void draw_slots(std::uint32_t name, std::uint32_t plane, std::uint32_t top) {
    for_each_run(name, plane, [&](std::uint32_t first, std::uint32_t last, PlanePicture const& is) {
      std::uint32_t const width = (last - first) * column_;
      draw("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
           is.slot == 0     ? "slot"
           : is.shared != 0 ? "shared"
                            : "own",
           x(first) + 1,
           top + 3,
           std::max(width, 3U) - 2,
           kSlotBand - 6);
      std::string const text = is.slot == 0 ? "-" : std::to_string(is.slot);
      if (width >= 8 * text.size() + 4) {
        draw("<text x=\"{}\" y=\"{}\" style=\"fill:var(--ink)\">{}</text>",
             x(first) + 4,
             top + 17,
             text);
      }
    });
    draw("\n");
  }

  /// A red frame around the plane that a violation names, at its moment, and a line at its row.
  void note_broken(std::uint32_t name,
                   std::uint32_t plane,
                   std::uint32_t top,
                   std::uint32_t height) {
    if (!story_.failure || sequence_of_failure(story_) != name) {
      return;
    }
    std::uint32_t const left = x(story_.failure->op_index);
    bool is_named = false;
    for (invariant::Violation const& violation : story_.failure->violations) {
      if (story_.planes[plane].name != violation.plane) {
        continue;
      }
      is_named = true;
      if (violation.position >= 0 && violation.position < tallest_ && height == kBand) {
        draw("<path class=\"hereline\" d=\"M{} {:.1f}h{}\"/>",
             left,
             y_of(static_cast<std::uint32_t>(violation.position), top),
             column_);
      }
    }
    if (is_named) {
      draw("<rect class=\"badframe\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
           left,
           top - 2,
           column_,
           height + 4);
    }
  }

  void draw_failure() {
    if (!story_.failure) {
      return;
    }
    std::uint32_t const at = x(story_.failure->op_index);
    draw("<rect class=\"here\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
         at,
         kAxis,
         column_,
         height_ - kAxis);
  }

  /// Numbers and names on top, and what a pointer reads.
  void draw_axis() {
    std::uint32_t const every = column_ >= 22 ? 1 : column_ >= 14 ? 5 : 10;
    for (std::uint32_t moment = 0; moment < columns(); ++moment) {
      Moment const& at = story_.moments[moment];
      bool const bad = story_.failure && story_.failure->op_index == moment;
      std::uint32_t const middle = x(moment) + column_ / 2;
      char const* const look = bad ? " class=\"heret\"" : "";
      if (moment % every == 0 || bad) {
        draw("<text{} x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
             look,
             middle,
             kAxis - 4,
             moment);
      }
      if (column_ >= 14 || bad) {
        draw("<text{0} transform=\"translate({1} {2}) rotate(-52)\">{3}</text>",
             look,
             middle,
             kAxis - 18,
             markup_text(at.kind));
      }
      draw(
          "<g class=\"op\"><title>{}: {}\n{}{}</title><rect x=\"{}\" y=\"0\" width=\"{}\" "
          "height=\"{}\"/></g>\n",
          moment,
          markup_text(at.text),
          markup_text(at.answer),
          markup_text(lengths_of(at)),
          x(moment),
          column_,
          height_);
    }
  }

  [[nodiscard]] std::string lengths_of(Moment const& moment) const {
    std::string text;
    for (SequencePicture const& sequence : moment.sequences) {
      text += fmt::format("\ns{}: {} rows", sequence.name, sequence.position);
      for (std::size_t plane = 0; plane < sequence.planes.size(); ++plane) {
        PlanePicture const& is = sequence.planes[plane];
        if (is.length != is.must) {
          text += fmt::format(
              ", {} has {} instead of {}", story_.planes[plane].name, is.length, is.must);
        }
      }
    }
    return text;
  }

  Story const& story_;
  std::uint32_t column_ = 0;
  std::uint32_t tallest_ = 0;  // tokens
  std::uint32_t height_ = 0;
  std::vector<Lane> lanes_;
  std::map<std::uint32_t, std::vector<Bracket>> brackets_;
  std::string out_;
};

}  // namespace

std::string story_drawing(Story const& story) {
  return Drawing{story}.svg();
}

}  // namespace holdfast::fuzz
