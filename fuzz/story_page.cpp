// SPDX-License-Identifier: Apache-2.0
// The page: words around one drawing.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "fuzz/markup.hpp"
#include "fuzz/mutants.hpp"
#include "fuzz/story_drawing.hpp"
#include "fuzz/story_words.hpp"
#include "invariants/registry.hpp"

namespace holdfast::fuzz {
namespace {

constexpr char const* kStyle = R"(
:root{--ink:#1d2733;--soft:#5b6b7c;--line:#d9e0e7;--paper:#fff;--card:#f6f8fa;--own:#4c8fd0;
--shared:#b9d4ee;--wrong:#d92d20;--must:#14202e;--round:#8a5cd1;--held:#2f8f6b;--slot:#e9eef4}
@media (prefers-color-scheme:dark){:root{--ink:#e3eaf2;--soft:#93a4b5;--line:#2c3947;--paper:#10161d;
--card:#182029;--own:#3f7fbf;--shared:#294a68;--wrong:#ff6a5e;--must:#f2f6fa;--round:#b08cf0;
--held:#56bd95;--slot:#222d38}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1180px;margin:0 auto;padding:28px 24px 64px}
h1{font-size:23px;line-height:1.3;margin:0 0 4px}h2{font-size:16px;margin:32px 0 10px}
.facts{color:var(--soft);margin:0 0 18px}
code,pre,td.op{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px;
overflow-x:auto;margin:0}
.broken{border-left:4px solid var(--wrong);background:var(--card);border-radius:0 8px 8px 0;
padding:12px 16px;margin:0 0 10px}
.broken b{color:var(--wrong);margin-right:8px}.broken span{color:var(--soft)}
.broken p{margin:4px 0 0}
.lead{font-size:16px;margin:0 0 16px}
.held{border-left-color:var(--held)}.held b{color:var(--held)}
.drawing{border:1px solid var(--line);border-radius:10px;overflow-x:auto;background:var(--paper)}
svg{display:block}svg text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
fill:var(--soft)}
svg .name{font:600 13px system-ui,sans-serif;fill:var(--ink)}svg .plane{fill:var(--ink)}
.own{fill:var(--own)}.shared{fill:var(--shared)}.wrong{fill:var(--wrong)}
.must{stroke:var(--must);stroke-width:1.6;fill:none}
.frame{stroke:var(--line);fill:none}.slot{fill:var(--slot)}
.round{stroke:var(--round);fill:none;stroke-width:1.5}.append{stroke:var(--soft);fill:none;
stroke-width:1.5}
.holds{stroke:var(--held);fill:none;stroke-width:1.5}svg .roundt{fill:var(--round)}
svg .holdst{fill:var(--held)}
.broke{stroke:var(--wrong);fill:none;stroke-width:2}svg .broket{fill:var(--wrong);font-weight:700}
.here{fill:var(--wrong);fill-opacity:.10}.hereline{stroke:var(--wrong);stroke-width:1.2}
svg .onwrong{fill:#fff;font-weight:700}
svg .heret{fill:var(--wrong);font-weight:700}.badframe{stroke:var(--wrong);stroke-width:2;fill:none}
.op rect{fill:var(--ink);fill-opacity:0}.op:hover rect{fill-opacity:.07}
.legend{display:flex;flex-wrap:wrap;gap:6px 20px;color:var(--soft);font-size:13px;margin:10px 2px 0}
.legend i{display:inline-block;width:14px;height:12px;border-radius:2px;margin-right:6px;
vertical-align:-1px}
.legend .l{height:0;border-top:2px solid var(--must);border-radius:0;vertical-align:4px}
table{border-collapse:collapse;width:100%}td{padding:2px 12px 2px 0;vertical-align:top}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:14px 2px 0;font-size:13px;
color:var(--soft)}dt{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:var(--ink)}
dd{margin:0}
td.n{color:var(--soft);text-align:right;width:44px}tr.bad td{color:var(--wrong);font-weight:600}
summary{cursor:pointer;color:var(--soft)}
)";

std::string headline(Story const& story) {
  if (!story.failure) {
    return "All held";
  }
  std::string ids;
  for (invariant::Violation const& violation : story.failure->violations) {
    if (ids.find(violation.id) == std::string::npos) {
      ids += (ids.empty() ? "" : ", ") + std::string{violation.id};
    }
  }
  std::uint32_t const at = story.failure->op_index;
  return story.failure->at_end
             ? fmt::format("The end of the program shows a violation of {}", ids)
             : fmt::format("Operation {}, {}, breaks {}", at, story.moments[at].kind, ids);
}

/// "latent of s0 has length 9 and must have 5".
std::string lengths_html(Story const& story, Moment const& moment) {
  std::string text;
  for (SequencePicture const& sequence : moment.sequences) {
    for (std::size_t plane = 0; plane < sequence.planes.size(); ++plane) {
      PlanePicture const& is = sequence.planes[plane];
      if (is.length != is.must) {
        text += fmt::format("{}<code>{}</code> of s{} has length {} and must have {}",
                            text.empty() ? " Afterwards " : ", ",
                            markup_text(story.planes[plane].name),
                            sequence.name,
                            is.length,
                            is.must);
      }
    }
  }
  if (!text.empty()) {
    return text + ".";
  }
  return story.failure->violations.front().plane[0] == '\0'
             ? text
             : " All lengths are as they must be; bytes are wrong where the red frame is.";
}

/// The failing operation, and the bug, for a reader who knows neither.
std::string lead_html(Story const& story, StoryFrame const& frame) {
  std::string text;
  if (story.failure) {
    Moment const& moment = story.moments[story.failure->op_index];
    text += fmt::format("<code>{}</code> {}.{}",
                        markup_text(moment.kind),
                        meaning_of_operation(moment.kind),
                        lengths_html(story, moment));
  }
  auto const known = fuzz::all_mutants();
  auto const mutant = std::find_if(
      known.begin(), known.end(), [&](MutantInfo const& one) { return frame.mutant == one.name; });
  if (mutant != known.end()) {
    text +=
        fmt::format("{}The seeded bug: {}.", text.empty() ? "" : " ", markup_text(mutant->text));
  }
  return text.empty() ? text : "<p class=\"lead\">" + text + "</p>\n";
}

/// What the planes of this program are.
std::string planes_html(Story const& story) {
  std::string rows;
  for (PlaneStory const& plane : story.planes) {
    std::string const entry = fmt::format(
        "<dt>{}</dt><dd>{}</dd>\n", markup_text(plane.name), meaning_of_plane(plane.name));
    if (rows.find(entry) == std::string::npos) {
      rows += entry;
    }
  }
  return "<dl>\n" + rows + "</dl>\n";
}

/// What must hold, in the words of the invariant.
std::string statement_html(std::string_view id) {
  for (invariant::Invariant const* const one : invariant::all_invariants()) {
    if (id == one->id) {
      return fmt::format("<p><span>must hold: {}</span></p>", markup_text(one->statement));
    }
  }
  return "";  // COMPARE and CONTRACT are not invariants
}

/// Those after the first mostly say the same from other sides.
std::string violations_html(Story const& story, bool first) {
  if (!story.failure) {
    return !first ? ""
                  : "<div class=\"broken held\"><b>HELD</b>No operation of this program broke an "
                    "invariant, and "
                    "the library answered as the model did.</div>\n";
  }
  std::span<invariant::Violation const> const all = story.failure->violations;
  std::string text = first || all.size() == 1 ? "" : "<h2>Broken as well</h2>\n";
  for (invariant::Violation const& violation : first ? all.first(1) : all.subspan(1)) {
    std::string where;
    auto const add = [&](std::string const& word) { where += (where.empty() ? "" : ", ") + word; };
    if (!violation.holder.empty()) {
      add(violation.holder);
    }
    if (violation.plane[0] != '\0') {
      add(violation.plane);
    }
    if (violation.layer >= 0) {
      add(fmt::format("layer {}", violation.layer));
    }
    if (violation.position >= 0) {
      add(fmt::format("position {}", violation.position));
    }
    text += fmt::format("<div class=\"broken\"><b>{}</b><span>{}</span><p>{}</p>{}</div>\n",
                        violation.id,
                        markup_text(where),
                        markup_text(violation.text),
                        statement_html(violation.id));
  }
  return text;
}

std::string operations_html(Story const& story) {
  std::string rows;
  for (std::size_t moment = 0; moment < story.moments.size(); ++moment) {
    Moment const& at = story.moments[moment];
    bool const bad = story.failure && story.failure->op_index == moment;
    rows += fmt::format(
        "<tr{} title=\"{}\"><td class=\"n\">{}</td><td class=\"op\">{}</td><td "
        "class=\"op\">{}{}</td></tr>\n",
        bad ? " class=\"bad\"" : "",
        meaning_of_operation(at.kind),
        moment,
        markup_text(at.text),
        markup_text(at.answer),
        at.want.empty() ? "" : markup_text(", the model says " + at.want));
  }
  constexpr std::size_t kShown = 40;
  bool const is_long = story.moments.size() > kShown;
  return fmt::format("{}<table>\n{}</table>{}\n",
                     is_long ? "<details><summary>all of them</summary>" : "",
                     rows,
                     is_long ? "</details>" : "");
}

constexpr char const* kLegend =
    "<div class=\"legend\"><span><i class=\"own\" style=\"background:var(--own)\"></i>rows in "
    "pages "
    "of its own, or a state slot</span><span><i style=\"background:var(--shared)\"></i>shared with "
    "others</span><span><i class=\"l\"></i>length that must be</span><span><i "
    "style=\"background:var(--wrong)\"></i>stale or missing rows</span><span><i "
    "style=\"border:2px solid var(--wrong)\"></i>what the violation names</span><span><i "
    "style=\"border-top:2px solid var(--round);border-left:2px solid var(--round)\"></i>open round"
    "</span><span><i style=\"border-top:2px solid var(--held);border-left:2px solid var(--held)\">"
    "</i>snapshot or prefix entry</span></div>\n";

}  // namespace

std::string story_page(Story const& story, StoryFrame const& frame) {
  std::string const title = headline(story);
  std::string facts = fmt::format("{}, geometry {}, device {}, {} operations",
                                  frame.title,
                                  story.geometry,
                                  story.device,
                                  story.moments.size());
  if (!frame.mutant.empty()) {
    facts += ", seeded bug " + frame.mutant;
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0} - Holdfast</title>\n<style>{1}</style></head>\n<body><main>\n<h1>{0}</h1>\n"
      "<p class=\"facts\">{2}</p>\n{9}{3}<h2>What every plane held, operation by operation</h2>\n"
      "<div "
      "class=\"drawing\">\n{4}</div>\n{5}{10}{8}<h2>Operations</h2>\n{6}<h2>Again</h2>\n<pre>{7}</"
      "pre>\n</main></body></"
      "html>\n",
      markup_text(title),
      kStyle,
      markup_text(facts),
      violations_html(story, true),
      story_drawing(story),
      kLegend,
      operations_html(story),
      markup_text(frame.reproduce),
      violations_html(story, false),
      lead_html(story, frame),
      planes_html(story));
}

}  // namespace holdfast::fuzz
