// SPDX-License-Identifier: Apache-2.0
// Goal: the library holds on every trace that we keep, and the corpus stays readable. Method: run
// each file with every invariant after every operation; print it again; read its comments.
#include "tests/regression/corpus.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/case_rows.hpp"
#include "fuzz/mutants.hpp"
#include "invariants/registry.hpp"

namespace holdfast::test {
namespace {

class CorpusTrace : public testing::TestWithParam<std::string> {};

TEST_P(CorpusTrace, Holds) {
  model::Trace const trace = model::load_trace(GetParam());
  fuzz::Runner runner{
      model::geometry_from_reference(trace.geometry),
      {.deep_every = 1, .watch_one_in = 1, .device = model::device_from(trace.device)}};
  fuzz::ProgramResult const result = runner.run_ops(trace.ops);
  ASSERT_FALSE(result.failure) << describe_failure(*result.failure);
  EXPECT_EQ(result.counts.operations, trace.ops.size()) << "an operation could not be run";
}

TEST_P(CorpusTrace, IsWhatThePrinterPrints) {
  std::string const text = text_of_file(GetParam());
  EXPECT_EQ(model::print_trace(model::parse_trace(text, GetParam())), text);
}

INSTANTIATE_TEST_SUITE_P(Corpus,
                         CorpusTrace,
                         testing::ValuesIn(traces_below(corpus_folder())),
                         test_name);

std::vector<std::string> regression_traces() {
  return traces_below(corpus_folder() + "/regression");
}

TEST(RegressionCorpus, EveryTraceNamesItsRow) {
  std::set<std::string> known{"COMPARE"};  // the driver's own word for answers that differ
  for (invariant::Invariant const* const item : invariant::all_invariants()) {
    known.insert(item->id);
  }
  for (std::string const& path : regression_traces()) {
    RowComment const comment = row_comment(model::load_trace(path));
    ASSERT_TRUE(comment.valid) << path << ": the first line must be\n"
                               << "# ROW (THREAD): what broke there. Holds: ID ID.";
    for (std::string const& id : comment.holds) {
      EXPECT_TRUE(known.contains(id)) << path << " names " << id;
    }
    std::string row = comment.row;
    std::erase_if(row, [](char letter) { return letter == '-'; });
    std::replace(row.begin(), row.end(), ' ', '_');
    bool const is_seed = row.starts_with("seed");
    if (is_seed && row.size() > 5 && row[5] >= '0' && row[5] <= '9') {
      row.erase(4, 1);
    }
    std::filesystem::path const file{path};
    EXPECT_TRUE(file.filename().string().starts_with(row + "_")) << path << " is of " << row;
    std::string const folder = is_seed ? "seed" : row == "own" ? row : row.substr(0, 1);
    EXPECT_EQ(file.parent_path().filename(), folder) << path;
  }
}

TEST(RegressionCorpus, EveryNamedMutantIsInTheTable) {
  std::set<std::string> known;
  for (fuzz::MutantInfo const& info : fuzz::all_mutants()) {
    known.insert(info.name);
  }
  for (std::string const& path : regression_traces()) {
    model::Trace const trace = model::load_trace(path);
    RowComment const comment = row_comment(trace);
    EXPECT_EQ(trace.comments.size(), comment.mutant.empty() ? 1U : 2U) << path;
    EXPECT_TRUE(comment.mutant.empty() || known.contains(comment.mutant))
        << path << " names " << comment.mutant;
  }
}

TEST(RegressionCorpus, EveryReportHasAMutantOrATraceOrAReason) {
  std::set<std::string> shown;
  for (std::string const& path : regression_traces()) {
    shown.insert(row_comment(model::load_trace(path)).row);
  }
  std::string mutants;
  for (fuzz::MutantInfo const& info : fuzz::all_mutants()) {
    mutants += std::string{" "} + info.case_row + ",";
  }
  for (fuzz::CaseRow const& row : fuzz::all_case_rows()) {
    bool const exists = shown.erase(row.id) != 0 ||
                        mutants.find(std::string{" "} + row.id + ",") != std::string::npos;
    EXPECT_EQ(exists, row.why_not[0] == '\0') << row.id;
  }
  for (std::string const& row : shown) {
    bool const is_known = row.starts_with("seed") || row == "own";
    EXPECT_TRUE(is_known) << row << " is not in the list of reports";
  }
}

TEST(RegressionCorpus, LinesFitAndAreAscii) {
  for (std::string const& path : regression_traces()) {
    std::size_t column = 0;
    for (char const letter : text_of_file(path)) {
      column = letter == '\n' ? 0 : column + 1;
      ASSERT_TRUE(letter == '\n' || (letter >= ' ' && letter <= '~')) << path;
      ASSERT_LE(column, 100U) << path;
    }
  }
}

TEST(Corpus, NamesOfFilesAreUnique) {
  std::map<std::string, std::string> seen;
  for (std::string const& path : traces_below(corpus_folder())) {
    auto const [other, fresh] = seen.emplace(std::filesystem::path{path}.stem().string(), path);
    EXPECT_TRUE(fresh) << path << " and " << other->second;
  }
}

TEST(RegressionCorpus, HasEveryClassThatOperationsReach) {
  std::map<std::string, std::size_t> by_class;
  for (std::string const& path : regression_traces()) {
    ++by_class[std::filesystem::path{path}.parent_path().filename().string()];
  }
  for (char const* const name : {"A", "B", "C", "E", "F", "G", "H", "K", "seed"}) {
    EXPECT_GE(by_class[name], 4U) << name;
  }
  EXPECT_GE(regression_traces().size(), 40U);
}

/// The comments of a trace with this first line.
RowComment comment_of(std::string line) {
  return row_comment({.comments = {std::move(line)}, .geometry = "tiny", .ops = {}});
}

TEST(RowCommentReader, FindsWhatIsMissing) {
  EXPECT_TRUE(comment_of(" A1 (vllm #39273): a stale state. Holds: RECUR LEN.").valid);
  EXPECT_TRUE(comment_of(" seed red-proof (memra): one short. Holds: PROV.").valid);
  EXPECT_FALSE(comment_of(" (vllm #39273): a stale state. Holds: RECUR.").valid);
  EXPECT_FALSE(comment_of(" A1: a stale state. Holds: RECUR.").valid);
  EXPECT_FALSE(comment_of(" A1 (vllm #39273): a stale state.").valid);
  EXPECT_FALSE(comment_of(" Z1 (vllm #39273): a stale state. Holds: RECUR.").valid);
  EXPECT_FALSE(row_comment({}).valid);
}

}  // namespace
}  // namespace holdfast::test
