// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/engine_story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/markup.hpp"

namespace holdfast::fuzz {
namespace {

constexpr double kLeastDecade = -9;  // errors below are drawn there
constexpr int kScale = 22;           // pixels a decade

constexpr char const* kEnginePageStyle = R"(
:root{--ink:#1d2733;--soft:#5b6b7c;--line:#d9e0e7;--paper:#fff;--card:#f6f8fa;--own:#4c8fd0;
--wrong:#d92d20;--held:#2f8f6b}
@media (prefers-color-scheme:dark){:root{--ink:#e3eaf2;--soft:#93a4b5;--line:#2c3947;--paper:#10161d;
--card:#182029;--own:#3f7fbf;--wrong:#ff6a5e;--held:#56bd95}}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:28px 24px 64px}h1{font-size:23px;margin:0 0 4px}
h2{font-size:16px;margin:28px 0 8px}.facts{color:var(--soft);margin:0 0 16px}
code,pre,td{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px;overflow-x:auto}
.broken{border-left:4px solid var(--wrong);background:var(--card);padding:12px 16px}
table{border-collapse:collapse}td,th{padding:3px 12px 3px 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line)}th{color:var(--soft);font-weight:500;font-size:13px}
tr.blamed td{background:var(--card)}tr.blamed td:first-child{border-left:4px solid var(--own)}
tr.failing td{color:var(--wrong);font-weight:600}.differs{color:var(--wrong);font-weight:600}
svg{display:block}svg text{font:11px ui-monospace,monospace;fill:var(--soft)}
)";

std::string error_text(EngineStep const& step) {
  return step.compared == 0           ? ""
         : !std::isfinite(step.error) ? "no number"
                                      : fmt::format("{:.1e}", step.error);
}

std::string reply_text(EngineStep const& step) {
  return step.skipped
             ? "not sent"
             : model::kReplyNames[static_cast<std::size_t>(step.answer.reply)] + step.answer.rest;
}

/// A bar on a log scale, with the tolerance as a line.
std::string bar(EngineStep const& step, double tolerance) {
  auto const place = [](double value) {
    double const decade = value > 0 ? std::log10(value) : kLeastDecade;
    return static_cast<int>((std::clamp(decade, kLeastDecade, 1.0) - kLeastDecade) * kScale);
  };
  int const width = static_cast<int>((1 - kLeastDecade) * kScale);
  if (step.compared == 0) {
    return "";
  }
  bool const wrong = !(step.error <= tolerance);
  int const length = std::isfinite(step.error) ? std::max(place(step.error), 2) : width;
  return fmt::format(
      R"x(<svg width="{}" height="18"><rect y="4" width="{}" height="10" fill="var(--{})"/>)x"
      R"x(<line x1="{}" x2="{}" y1="0" y2="18" stroke="var(--ink)" stroke-dasharray="3 2"/></svg>)x",
      width,
      length,
      wrong ? "wrong" : "held",
      place(tolerance),
      place(tolerance));
}

std::string row_of(EngineStory const& story, std::size_t i) {
  EngineFinding const& found = story.finding;
  bool const failing = found.verdict.failed() && i == found.verdict.at;
  std::string const op = markup_text(model::text_of(found.program.ops[i]));
  std::string const classes =
      std::string{i == found.blamed && found.verdict.failed() ? "blamed " : ""} +
      (failing ? "failing" : "");
  std::string row =
      fmt::format("<tr class=\"{}\"><td>{}</td><td>{}{}</td>",
                  classes,
                  i,
                  op,
                  i == found.blamed && found.verdict.failed() ? " &#9664; blamed" : "");
  if (i >= found.verdict.steps.size()) {
    return row + "<td>no answer</td><td></td><td></td><td></td></tr>\n";
  }
  EngineStep const& step = found.verdict.steps[i];
  bool const differs = [&] {
    for (auto const& [name, extent] : step.expected) {
      auto const got = step.after.find(name);
      if (got == step.after.end() || got->second.last != extent.last) {
        return true;
      }
    }
    return step.lost == 0 && step.after.size() != step.expected.size();
  }();
  row += fmt::format("<td>{}</td><td>{}</td><td{}>{}</td><td>{} {}</td></tr>\n",
                     markup_text(reply_text(step)),
                     model::text_of(step.expected),
                     differs ? " class=\"differs\"" : "",
                     model::text_of(step.after),
                     bar(step, story.calibration.tolerance),
                     error_text(step));
  return row;
}

std::string headline(EngineStory const& story) {
  EngineFinding const& found = story.finding;
  if (!found.verdict.failed()) {
    return "All held";
  }
  return fmt::format("{} at operation {}, {}; blamed: {}",
                     found.verdict.oracle,
                     found.verdict.at,
                     model::name_of(found.program.ops[found.verdict.at]),
                     model::name_of(found.program.ops[found.blamed]));
}

std::string facts(EngineStory const& story) {
  return fmt::format(
      "target {}, engine {}; knobs {}; tolerance {:.1e}{}",
      story.target,
      story.engine,
      story.finding.program.knobs.empty() ? "none" : model::text_of(story.finding.program.knobs),
      story.calibration.tolerance,
      story.calibration.signal > 0
          ? fmt::format(" (chunks of the same tokens change logits by {:.1e}, one "
                        "other token by {:.1e})",
                        story.calibration.noise,
                        story.calibration.signal)
          : "");
}

}  // namespace

std::string text_of(EngineStory const& story) {
  EngineFinding const& found = story.finding;
  std::string text = headline(story) + "\n" + facts(story) + "\n\n";
  for (std::size_t i = 0; i < found.program.ops.size(); ++i) {
    bool const failing = found.verdict.failed() && i == found.verdict.at;
    bool const blamed = found.verdict.failed() && i == found.blamed;
    text += fmt::format("{}{:>3}  {}\n",
                        failing  ? "X"
                        : blamed ? ">"
                                 : " ",
                        i,
                        model::text_of(found.program.ops[i]));
    if (i >= found.verdict.steps.size()) {
      text += "        no answer\n";
      continue;
    }
    EngineStep const& step = found.verdict.steps[i];
    text += fmt::format("        {}; history {}; engine {}{}{}\n",
                        reply_text(step),
                        model::text_of(step.expected),
                        model::text_of(step.after),
                        step.compared == 0 ? "" : "; error ",
                        error_text(step));
  }
  if (found.verdict.failed()) {
    text += "\n" + found.verdict.oracle + ": " + found.verdict.text +
            "\nbucket: " + found.bucket.text() + "\n";
  }
  return text;
}

std::string page_of(EngineStory const& story) {
  EngineFinding const& found = story.finding;
  std::string page = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>" +
                     markup_text(headline(story)) + "</title><style>" + kEnginePageStyle +
                     "</style><main><h1>" + markup_text(headline(story)) +
                     "</h1><p class=\"facts\">" + markup_text(facts(story)) + "</p>\n";
  if (found.verdict.failed()) {
    page += "<div class=\"broken\"><b>" + found.verdict.oracle + "</b> " +
            markup_text(found.verdict.text) + "<br>Bucket: <code>" +
            markup_text(found.bucket.text()) + "</code></div>\n";
  }
  page +=
      "<h2>Operations</h2><table><tr><th></th><th>operation</th><th>answer</th><th>positions of "
      "the "
      "histories</th><th>of the engine</th><th>error of the logits, log scale from 1e-9 to 10; "
      "dashed: "
      "tolerance</th></tr>\n";
  for (std::size_t i = 0; i < found.program.ops.size(); ++i) {
    page += row_of(story, i);
  }
  page += "</table>\n<h2>Again</h2><pre>" + markup_text(story.reproduce) + "</pre>\n";
  if (!story.said.empty()) {
    page += "<h2>What the engine said</h2><pre>" + markup_text(story.said) + "</pre>\n";
  }
  return page + "</main></html>\n";
}

}  // namespace holdfast::fuzz
