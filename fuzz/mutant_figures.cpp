// SPDX-License-Identifier: Apache-2.0
// Medians of searches for mutants, and the page that shows them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

#include "fuzz/case_rows.hpp"
#include "fuzz/mutant_runner.hpp"

namespace holdfast::fuzz {
namespace {

/// Chance that at most `most` of `count` coins show heads.
double at_most(std::uint32_t most, std::uint32_t count) noexcept {
  double sum = 0;
  double term = std::pow(0.5, count);  // of no heads
  for (std::uint32_t heads = 0; heads <= most; ++heads) {
    sum += term;
    term = term * (count - heads) / (heads + 1);
  }
  return sum;
}

/// Outcomes that lie on each side of the interval of the median.
std::uint32_t cut_of(std::uint32_t count) noexcept {
  constexpr double kEachSide = 0.025;
  std::uint32_t cut = 0;
  while (2 * (cut + 1) < count && at_most(cut, count) <= kEachSide) {
    ++cut;
  }
  // `cut` outcomes may be left out on each side; of few repeats none.
  return cut == 0 ? 0 : cut - 1;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t const middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string whole(double value) {
  return std::to_string(static_cast<std::uint64_t>(value + 0.5));
}

/// Names of the traces that are wanted, separated by spaces.
void list_traces(std::ostream& text,
                 std::vector<TraceOfRow> const& traces,
                 std::function<bool(TraceOfRow const&)> const& is_wanted) {
  char const* between = "";
  for (TraceOfRow const& trace : traces) {
    if (is_wanted(trace)) {
      text << between << trace.name;
      between = " ";
    }
  }
}

/// Whether a list of rows, "C1, seed 8", names one.
bool names_row(std::string const& list, std::string const& row) {
  std::istringstream words{list};
  for (std::string word; words >> word;) {
    if (word == row || word == row + ",") {
      return true;
    }
  }
  return false;
}

void add_rows(std::ostream& text,
              std::vector<MutantFigures> const& figures,
              std::vector<TraceOfRow> const& traces) {
  text << "\n## Reports\n\nEvery public report that was studied, with its mutants and its traces, "
          "or "
          "why it cannot exist here.\n\n"
          "| row | what broke there | mutants | traces | why not |\n|---|---|---|---|---|\n";
  for (CaseRow const& row : all_case_rows()) {
    text << "| " << row.id << " | " << row.text << " | ";
    char const* between = "";
    for (MutantFigures const& one : figures) {
      if (names_row(one.info.case_row, row.id)) {
        text << between << "`" << one.info.name << "`";
        between = " ";
      }
    }
    text << " | ";
    list_traces(text, traces, [&](TraceOfRow const& trace) { return trace.row == row.id; });
    text << " | " << row.why_not << " |\n";
  }
}

}  // namespace

double median_confidence(std::uint32_t repeats) noexcept {
  return 100 * (1 - 2 * at_most(cut_of(repeats), repeats));
}

MutantFigures figures_of(std::vector<MutantOutcome> const& outcomes) {
  MutantFigures figures{.info = outcomes.front().info,
                        .repeats = static_cast<std::uint32_t>(outcomes.size())};
  std::vector<double> operations;
  std::vector<double> seconds;
  for (MutantOutcome const& outcome : outcomes) {
    figures.killed += outcome.killed ? 1 : 0;
    figures.reached += outcome.killed || outcome.reached != 0 ? 1 : 0;
    figures.longest = std::max(figures.longest, outcome.operations);
    operations.push_back(static_cast<double>(outcome.operations));
    seconds.push_back(outcome.seconds);
    for (std::string const& id : outcome.invariants) {
      auto& ids = figures.invariants;
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
        ids.push_back(id);
      }
    }
  }
  std::sort(figures.invariants.begin(), figures.invariants.end());
  std::sort(operations.begin(), operations.end());
  std::uint32_t const cut = cut_of(figures.repeats);
  figures.operations = median(operations);
  figures.low = operations[cut];
  figures.high = operations[operations.size() - 1 - cut];
  figures.seconds = median(seconds);
  return figures;
}

std::string mutants_page(std::vector<MutantFigures> const& figures,
                         std::vector<TraceOfRow> const& traces,
                         std::string const& search,
                         std::uint64_t seed) {
  std::uint32_t const repeats = figures.empty() ? 0 : figures.front().repeats;
  std::uint32_t killed = 0;
  std::vector<double> medians;
  std::uint64_t longest = 0;
  for (MutantFigures const& one : figures) {
    killed += one.killed == one.repeats ? 1 : 0;
    medians.push_back(one.operations);
    longest = std::max(longest, one.longest);
  }
  std::ostringstream text;
  text << "# Mutants\n\nMade by `holdfast mutants --search " << search << " --repeat " << repeats
       << " --seed " << seed << " --markdown`. Do not edit.\n\n"
       << "Each is a seeded bug of the library, turned on in a build of its own. A search runs "
          "until an "
          "invariant, or the\ncomparison with the model, reports it. The interval is that of the "
          "median ("
       << whole(median_confidence(repeats)) << " % sure).\n\n"
       << figures.size() << " mutants; " << killed << " killed in every one of " << repeats
       << " searches. Median of the medians " << whole(medians.empty() ? 0 : median(medians))
       << " operations,\nlongest search " << longest << ".\n\n"
       << "| mutant | what is wrong | report | killed | operations | interval | longest | by | "
          "trace |\n|---|---|---|---|---|---|---|---|---|\n";
  for (MutantFigures const& one : figures) {
    text << "| `" << one.info.name << "` | " << one.info.text << " | " << one.info.case_row << " | "
         << one.killed << " of " << one.repeats << " | " << whole(one.operations) << " | "
         << whole(one.low) << " - " << whole(one.high) << " | " << one.longest << " | ";
    for (std::string const& id : one.invariants) {
      text << (id == one.invariants.front() ? "" : " ") << id;
    }
    text << " | ";
    list_traces(
        text, traces, [&](TraceOfRow const& trace) { return trace.mutant == one.info.name; });
    text << " |\n";
  }
  add_rows(text, figures, traces);
  return text.str();
}

}  // namespace holdfast::fuzz
