// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "fuzz/campaign/programs.hpp"
#include "fuzz/json_text.hpp"
#include "fuzz/markup.hpp"

namespace holdfast::fuzz {
namespace {

std::string date_of(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

/// A line of a plot.
struct Line {
  char const* name;
  char const* color;
  std::function<std::uint64_t(HistoryPoint const&)> value;
};

constexpr double kPlotWidth = 760;
constexpr double kHeight = 180;
constexpr double kPlotLeft = 90;
constexpr double kTop = 10;

/// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t end = text.size(); end > 3; end -= 3) {
    text.insert(end - 3, ",");
  }
  return text;
}

/// One line over time, from 0 to its largest value.
std::string line_svg(std::vector<HistoryPoint> const& history, Line const& line, double most) {
  double const end = std::max(1e-9, history.back().seconds);
  std::string points;
  for (HistoryPoint const& point : history) {
    points += fmt::format(
        "{:.1f},{:.1f} ",
        kPlotLeft + point.seconds / end * kPlotWidth,
        kTop + kHeight - static_cast<double>(line.value(point)) / std::max(1.0, most) * kHeight);
  }
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"{}\"/>\n",
                     line.color,
                     points);
}

std::string plot(std::vector<HistoryPoint> const& history, Line const& line) {
  if (history.empty()) {
    return "";
  }
  std::uint64_t most = 0;
  for (HistoryPoint const& point : history) {
    most = std::max(most, line.value(point));
  }
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n"
      "<rect x=\"{2}\" y=\"{3}\" width=\"{4}\" height=\"{5}\" fill=\"none\" stroke=\"#999\"/>\n"
      "<text x=\"{6}\" y=\"{7}\" text-anchor=\"end\">{8}</text>\n"
      "<text x=\"{6}\" y=\"{9}\" text-anchor=\"end\">0</text>\n"
      "<text x=\"{10}\" y=\"{11}\" text-anchor=\"end\">{12:.0f} s</text>\n{13}</svg>\n",
      kPlotLeft + kPlotWidth + 10,
      kTop + kHeight + 25,
      kPlotLeft,
      kTop,
      kPlotWidth,
      kHeight,
      kPlotLeft - 6,
      kTop + 12,
      grouped(most),
      kTop + kHeight,
      kPlotLeft + kPlotWidth,
      kTop + kHeight + 18,
      history.back().seconds,
      line_svg(history, line, static_cast<double>(most)));
}

std::string row(std::vector<std::string> const& cells, char const* tag) {
  std::string text = "<tr>";
  for (std::string const& cell : cells) {
    text += fmt::format("<{0}>{1}</{0}>", tag, markup_text(cell));
  }
  return text + "</tr>\n";
}

std::string targets_html(CampaignState const& state) {
  std::string text = "<table>\n" + row({"target",
                                        "worker seconds",
                                        "programs",
                                        "a second",
                                        "features",
                                        "crashes",
                                        "time-outs",
                                        "memory kills"},
                                       "th");
  for (auto const& [name, target] : state.targets) {
    double const rate =
        target.seconds > 0 ? static_cast<double>(target.programs) / target.seconds : 0;
    text += row({name,
                 fmt::format("{:.0f}", target.seconds),
                 grouped(target.programs),
                 fmt::format("{:.0f}", rate),
                 target.coverage == 0 ? "" : grouped(target.coverage),
                 std::to_string(target.crashes),
                 std::to_string(target.time_outs),
                 std::to_string(target.memory_kills)},
                "td");
  }
  return text + "</table>\n";
}

std::string findings_html(ReportPlan const& plan) {
  if (plan.findings.buckets().empty()) {
    return "<p>None.</p>\n";
  }
  std::string text;
  for (auto const& [name, bucket] : plan.findings.buckets()) {
    text += fmt::format(
        "<h3>{} <small>{}</small></h3>\n<p>{}</p>\n"
        "<p>{} times, first {} by {}, seed {}; shortest {} {}, fastest {:.4f} s.</p>\n"
        "<pre>{}</pre>\n<details><summary>shortest</summary><pre>{}</pre></details>\n",
        markup_text(describe(bucket.first.signature)),
        name_of(bucket.state),
        markup_text(bucket.first.text),
        bucket.count,
        date_of(bucket.first.seen),
        markup_text(bucket.first.target),
        bucket.first.seed,
        bucket.shortest.operations,
        bucket.shortest.is_trace ? "operations" : "bytes",
        bucket.fastest.seconds,
        markup_text(plan.reproduce(name, bucket)),
        bucket.shortest.is_trace ? markup_text(bucket.shortest.bytes) : "bytes of a fuzzer");
  }
  return text;
}

std::string transitions_html(std::vector<std::uint64_t> const& transitions) {
  std::string text = "<details><summary>all of them</summary><pre>\n";
  for (std::uint64_t const key : transitions) {
    text += markup_text(transition_text(key)) + "\n";
  }
  return text + "</pre></details>\n";
}

/// "append in: at rest, page edge".
std::string unseen_text(model::UnseenEdge const& edge) {
  return std::string{model::AllOps::kNames[edge.op]} +
         " in: " + model::text_of(model::AbstractState::from_key(edge.from));
}

std::string unseen_html(model::Coverage const& coverage) {
  std::vector<model::UnseenEdge> const unseen = coverage.unseen();
  std::string text = fmt::format(
      "<p>{} states and {} transitions are in the units of the swarm. In {} of these states an "
      "operation was never taken that was taken in others like it.</p>\n"
      "<details><summary>never taken, the nearest first</summary><pre>\n",
      coverage.state_count(),
      coverage.edge_count(),
      unseen.size());
  for (model::UnseenEdge const& edge : unseen) {
    text += markup_text(unseen_text(edge)) + "\n";
  }
  return text + "</pre></details>\n";
}

}  // namespace

std::string report_json(ReportPlan const& plan) {
  CampaignState const& state = plan.state;
  Json targets = Json::object();
  for (auto const& [name, target] : state.targets) {
    targets[name] = {{"seconds", target.seconds},
                     {"jobs", target.jobs},
                     {"programs", target.programs},
                     {"operations", target.operations},
                     {"features", target.coverage},
                     {"crashes", target.crashes},
                     {"time_outs", target.time_outs},
                     {"memory_kills", target.memory_kills}};
  }
  Json findings = Json::array();
  for (auto const& [name, bucket] : plan.findings.buckets()) {
    findings.push_back({{"bucket", name},
                        {"state", name_of(bucket.state)},
                        {"count", bucket.count},
                        {"id", bucket.first.signature.id},
                        {"operation", bucket.first.signature.operation},
                        {"frames", bucket.first.signature.frames},
                        {"text", bucket.first.text},
                        {"target", bucket.first.target},
                        {"first_seen", bucket.first.seen},
                        {"operations", bucket.shortest.operations},
                        {"reproduce", plan.reproduce(name, bucket)}});
  }
  Json history = Json::array();
  for (HistoryPoint const& point : state.history) {
    history.push_back({{"seconds", point.seconds},
                       {"programs", point.programs},
                       {"transitions", point.transitions},
                       {"units", point.units},
                       {"findings", point.findings}});
  }
  Json unseen = Json::array();
  for (model::UnseenEdge const& edge : plan.coverage.unseen()) {
    unseen.push_back(unseen_text(edge));
  }
  Json const json = {{"seconds", state.elapsed},
                     {"seed", state.seed},
                     {"commit", state.commit},
                     {"mutant", state.mutant.empty() ? Json() : Json(state.mutant)},
                     {"supervisors", state.starts},
                     {"canary_reported", plan.canary_reported},
                     {"units", plan.units},
                     {"transitions", plan.transitions.size()},
                     {"states", plan.coverage.state_count()},
                     {"unseen", unseen},
                     {"targets", targets},
                     {"findings", findings},
                     {"history", history}};
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string report_html(ReportPlan const& plan) {
  CampaignState const& state = plan.state;
  std::string plots;
  for (Line const& line :
       {Line{"Transitions", "#1b6ca8", [](auto const& point) { return point.transitions; }},
        Line{"Units", "#2a9d5c", [](auto const& point) { return point.units; }},
        Line{"Findings", "#c0392b", [](auto const& point) { return point.findings; }},
        Line{"Programs", "#555", [](auto const& point) { return point.programs; }}}) {
    plots += fmt::format("<h2>{} over time</h2>\n", line.name) + plot(state.history, line);
  }
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
             "<title>Holdfast campaign</title>\n<style>\n"
             "body {{ font: 15px sans-serif; max-width: 60em; margin: 2em auto; }}\n"
             "table {{ border-collapse: collapse; }}\n"
             "td, th {{ border: 1px solid #bbb; padding: 0.2em 0.7em; text-align: right; }}\n"
             "td:first-child, th:first-child {{ text-align: left; }}\n"
             "pre {{ background: #f4f4f4; padding: 0.6em; overflow-x: auto; }}\n"
             "small {{ background: #eee; padding: 0 0.4em; }}\n</style></head>\n<body>\n"
             "<h1>Campaign</h1>\n<p>{:.0f} s by {} supervisor(s), seed {}, commit {}{}. "
             "{} units, {} transitions, {} findings. The canary was {}reported.</p>\n",
             state.elapsed,
             state.starts,
             state.seed,
             markup_text(state.commit.empty() ? "unknown" : state.commit),
             state.mutant.empty() ? "" : ", mutant " + markup_text(state.mutant),
             plan.units,
             plan.transitions.size(),
             plan.findings.buckets().size(),
             plan.canary_reported ? "" : "<b>not</b> ") +
         "<h2>Findings</h2>\n" + findings_html(plan) + "<h2>Targets</h2>\n" + targets_html(state) +
         plots + "<h2>Transitions</h2>\n<p>State, operation and outcome of what was run.</p>\n" +
         transitions_html(plan.transitions) + unseen_html(plan.coverage) + "</body>\n</html>\n";
}

}  // namespace holdfast::fuzz
