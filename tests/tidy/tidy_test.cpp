// SPDX-License-Identifier: Apache-2.0
// Goal: the repository keeps its own rules of style. Method: every rule of rules.hpp runs over
// every file that git knows; beside it a planted breach shows that the rule can find one.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/tidy/rules.hpp"

namespace holdfast::test::tidy {
namespace {

std::string const& root() {
  static std::string const path = HOLDFAST_SOURCE_DIR;
  return path;
}

// What git prints; empty when git or the repository is missing. New files that nobody committed
// yet count too, ignored ones do not.
std::string list_files() {
  std::string const command = "git -c safe.directory='" + root() + "' -C '" + root() +
                              "' ls-files -z --cached --others --exclude-standard 2>/dev/null";
  struct Close {
    void operator()(FILE* pipe) const { pclose(pipe); }
  };
  std::unique_ptr<FILE, Close> const pipe(popen(command.c_str(), "r"));
  std::string out;
  std::array<char, 4096> buffer{};
  while (pipe != nullptr) {
    std::size_t const got = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
    if (got == 0) {
      break;
    }
    out.append(buffer.data(), got);
  }
  return out;
}

Tree read_tree() {
  Tree tree;
  std::istringstream names(list_files());
  for (std::string name; std::getline(names, name, '\0');) {
    std::ifstream file(root() + "/" + name, std::ios::binary);
    if (file) {  // a deleted file is listed until the deletion is staged
      std::ostringstream text;
      text << file.rdbuf();
      tree[name] = text.str();
    }
  }
  return tree;
}

Tree const& tree() {
  static Tree const files = read_tree();
  return files;
}

using TextRule = Breaches (*)(std::string const& path, std::string_view text);
using TreeRule = Breaches (*)(std::string const& path, Tree const& tree);

std::string report(std::function<Breaches(std::string const&, std::string const&)> const& rule) {
  std::string lines;
  for (auto const& [path, text] : tree()) {
    for (Breach const& breach : rule(path, text)) {
      lines += describe(breach) + "\n";
    }
  }
  return lines;
}

std::string report(TextRule rule) {
  return report(
      [rule](std::string const& path, std::string const& text) { return rule(path, text); });
}

std::string report(TreeRule rule) {
  return report([rule](std::string const& path, std::string const&) { return rule(path, tree()); });
}

class Repository : public testing::Test {
 protected:
  void SetUp() override {
    if (tree().empty()) {
      GTEST_SKIP() << "git or the .git folder is missing, so the files cannot be listed";
    }
  }
};

TEST_F(Repository, KeepsIncludeLayers) {
  EXPECT_EQ(report(include_layers), "");
}
TEST_F(Repository, KeepsFilesShort) {
  EXPECT_EQ(report(file_length), "");
}
TEST_F(Repository, AvoidsBannedWords) {
  EXPECT_EQ(report(banned_words), "");
}
TEST_F(Repository, ListsEveryFile) {
  EXPECT_EQ(report(unlisted_file), "");
}
TEST_F(Repository, KeepsOperationsApart) {
  EXPECT_EQ(report(concrete_operations), "");
}
TEST_F(Repository, IsAscii) {
  EXPECT_EQ(report(ascii_only), "");
}
TEST_F(Repository, HasNoDeadLinks) {
  EXPECT_EQ(report(dead_links), "");
}

TEST_F(Repository, HasNoForgottenDocument) {
  EXPECT_EQ(report(unreached_document), "");
}

// The number of breaches; the only one must sit at `line`.
std::size_t count_at(int line, Breaches const& breaches) {
  for (Breach const& breach : breaches) {
    EXPECT_EQ(breach.line, line) << describe(breach);
  }
  return breaches.size();
}

std::size_t includes(std::string const& path, std::string const& what) {
  return count_at(2, include_layers(path, "\n#include " + what + "\n"));
}

TEST(IncludeLayers, LibrarySeesOnlyItself) {
  EXPECT_EQ(includes("lib/include/holdfast/a.hpp", "<vector>"), 0U);
  EXPECT_EQ(includes("lib/include/holdfast/a.hpp", "\"holdfast/b.hpp\""), 0U);
  EXPECT_EQ(includes("lib/include/holdfast/a.hpp", "\"base/assert.hpp\""), 1U);
  EXPECT_EQ(includes("lib/src/base/a.cpp", "<fmt/core.h>"), 1U);
  EXPECT_EQ(includes("lib/src/base/a.cpp", "\"models/a.hpp\""), 1U);
  EXPECT_EQ(includes("lib/src/prefix/a.cpp", "<xxhash.h>"), 0U);
  EXPECT_EQ(includes("lib/src/cache/a.cpp", "<xxhash.h>"), 1U);
  EXPECT_EQ(includes("lib/src/device/a.cu", "<cuda_runtime.h>"), 0U);
  EXPECT_EQ(includes("lib/src/storage/a.cpp", "<cuda_runtime.h>"), 1U);
}

TEST(IncludeLayers, LibraryModulesSeeOnlyLowerOnes) {
  EXPECT_EQ(includes("lib/src/planes/a.cpp", "\"storage/pool.hpp\""), 0U);
  EXPECT_EQ(includes("lib/src/planes/a.cpp", "\"planes/b.hpp\""), 0U);
  EXPECT_EQ(includes("lib/src/planes/a.cpp", "\"cache/cache.hpp\""), 1U);
}

TEST(IncludeLayers, HarnessLayersSeeOnlyLowerOnes) {
  EXPECT_EQ(includes("models/a.hpp", "\"models/b.hpp\""), 0U);
  EXPECT_EQ(includes("models/a.hpp", "\"invariants/b.hpp\""), 1U);
  EXPECT_EQ(includes("invariants/a.hpp", "\"fuzz/b.hpp\""), 1U);
  EXPECT_EQ(includes("fuzz/a.hpp", "\"tools/b.hpp\""), 1U);
  EXPECT_EQ(includes("tools/a.hpp", "\"tests/b.hpp\""), 1U);
  EXPECT_EQ(includes("models/a.hpp", "\"b.hpp\""), 1U);
}

TEST(IncludeLayers, OnlyUnitTestsAndBenchSeeInsideOfLibrary) {
  EXPECT_EQ(includes("models/a.cpp", "\"storage/pool.hpp\""), 1U);
  EXPECT_EQ(includes("invariants/a.cpp", "\"lib/src/storage/pool.hpp\""), 1U);
  EXPECT_EQ(includes("tests/property/a_test.cpp", "\"storage/pool.hpp\""), 1U);
  EXPECT_EQ(includes("tests/unit/storage/a_test.cpp", "\"storage/pool.hpp\""), 0U);
  EXPECT_EQ(includes("bench/a.cpp", "\"storage/pool.hpp\""), 0U);
}

TEST(IncludeLayers, HeadersOfOthersStayInTheirFolders) {
  EXPECT_EQ(includes("fuzz/a.cpp", "<gtest/gtest.h>"), 1U);
  EXPECT_EQ(includes("tests/unit/a_test.cpp", "<gtest/gtest.h>"), 0U);
  EXPECT_EQ(includes("invariants/a.cpp", "<boost/graph/adjacency_list.hpp>"), 1U);
  EXPECT_EQ(includes("fuzz/a.cpp", "<boost/graph/adjacency_list.hpp>"), 0U);
  EXPECT_EQ(includes("models/lineage/a.cpp", "<boost/graph/adjacency_list.hpp>"), 0U);
  EXPECT_EQ(includes("examples/a.cpp", "<holdfast/cache.hpp>"), 0U);
  EXPECT_EQ(includes("examples/a.cpp", "<fmt/core.h>"), 1U);
  EXPECT_EQ(includes("examples/a.cpp", "\"models/a.hpp\""), 1U);
  EXPECT_EQ(includes("examples/a.cpp", "\"examples/a.hpp\""), 0U);
}

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "x\n";
  }
  return text;
}

TEST(FileLength, FindsLongFile) {
  EXPECT_EQ(file_length("lib/src/base/a.cpp", lines(600)).size(), 0U);
  EXPECT_EQ(count_at(601, file_length("lib/src/base/a.cpp", lines(601))), 1U);
  EXPECT_EQ(file_length("tests/unit/a_test.cpp", lines(800)).size(), 0U);
  EXPECT_EQ(count_at(801, file_length("tests/unit/a_test.cpp", lines(801))), 1U);
  EXPECT_EQ(file_length("docs/a.md", lines(5000)).size(), 0U);
}

std::size_t words(std::string const& path, std::string const& code) {
  return count_at(3, banned_words(path, "\n\n" + code + "\n"));
}

TEST(BannedWords, FindsClock) {
  EXPECT_EQ(words("fuzz/driver.cpp", "auto t = std::chrono::steady_clock::now();"), 1U);
  EXPECT_EQ(words("tools/run.cpp", "auto t = std::chrono::steady_clock::now();"), 0U);
  EXPECT_EQ(words("fuzz/campaign/a.cpp", "auto t = std::chrono::steady_clock::now();"), 0U);
}

TEST(BannedWords, FindsHiddenRandomness) {
  EXPECT_EQ(words("tests/unit/a_test.cpp", "int x = rand();"), 1U);
  EXPECT_EQ(words("models/a.cpp", "std::uniform_int_distribution<int> d;"), 1U);
  EXPECT_EQ(words("models/a.cpp", "int operand = brand(rand_x);"), 0U);
}

TEST(BannedWords, FindsEnvironment) {
  EXPECT_EQ(words("tools/main.cpp", "auto p = std::getenv(name);"), 1U);
}

TEST(BannedWords, FindsUnorderedContainerInHarness) {
  EXPECT_EQ(words("models/a.cpp", "std::unordered_map<int, int> m;"), 1U);
  EXPECT_EQ(words("lib/src/prefix/a.cpp", "std::unordered_map<int, int> m;"), 0U);
}

TEST(BannedWords, FindsRulesAndKindsOfPlanes) {
  EXPECT_EQ(words("lib/src/cache/a.cpp", "if (known.rule == PlaneRule::kRing) {"), 1U);
  EXPECT_EQ(words("lib/src/cache/a.cpp", "if constexpr (requires { held.table(); }) {"), 1U);
  EXPECT_EQ(words("lib/src/storage/a.cpp", "find(PlaneKind::kHeld, layer);"), 1U);
  EXPECT_EQ(words("lib/src/planes/plane_list.hpp", "case PlaneRule::rule:"), 0U);
  EXPECT_EQ(words("lib/src/cache/a.cpp", "PlaneRule rule = rule_of(kind);"), 0U);
  EXPECT_EQ(words("lib/include/holdfast/planes/a.hpp", "PlaneRule::kPaged"), 0U);
}

TEST(BannedWords, FindsPrintingLibrary) {
  EXPECT_EQ(words("lib/src/base/a.cpp", "#include <iostream>"), 1U);
  EXPECT_EQ(words("lib/src/base/a.cpp", "std::printf(text);"), 1U);
  EXPECT_EQ(words("lib/src/base/a.cpp", "std::snprintf(out, size, text);"), 0U);
  EXPECT_EQ(words("tools/a.cpp", "std::printf(text);"), 0U);
}

TEST(BannedWords, IgnoresCommentsAndLiterals) {
  EXPECT_EQ(words("lib/src/base/a.cpp", "// rand() /* x"), 0U);
  EXPECT_EQ(words("lib/src/base/a.cpp", "/* rand() */ int x = 1'000;"), 0U);
  EXPECT_EQ(words("lib/src/base/a.cpp", "auto s = \"a \\\" rand()\"; char q = '\"';"), 0U);
  EXPECT_EQ(words("lib/src/base/a.cpp", "auto s = R\"x(\" rand())x\"; int rand;"), 1U);
}

TEST(UnlistedFile, FindsSourceThatNothingBuilds) {
  Tree const planted = {
      {"tests/CMakeLists.txt", "holdfast_test(NAME a\n  SRCS unit/a_test.cpp # unit/b_test.cpp\n)"},
      {"tests/unit/a_test.cpp", ""},
      {"tests/unit/b_test.cpp", ""},
      {"models/CMakeLists.txt", "set(X geometry/one.json)"},
      {"models/geometry/one.json", ""},
      {"lib/CMakeLists.txt", "file(GLOB planes CONFIGURE_DEPENDS src/planes/*.cpp)"},
      {"lib/src/planes/a.cpp", ""},
      {"lib/src/planes/deep/a.cpp", ""},
      {"models/geometry/two.json", ""},
  };
  EXPECT_EQ(unlisted_file("tests/unit/a_test.cpp", planted).size(), 0U);
  EXPECT_EQ(count_at(0, unlisted_file("tests/unit/b_test.cpp", planted)), 1U);
  EXPECT_EQ(unlisted_file("models/geometry/one.json", planted).size(), 0U);
  EXPECT_EQ(unlisted_file("models/geometry/two.json", planted).size(), 1U);
  EXPECT_EQ(unlisted_file("lib/src/planes/a.cpp", planted).size(), 0U);
  EXPECT_EQ(unlisted_file("lib/src/planes/deep/a.cpp", planted).size(), 1U);
}

TEST(ConcreteOperations, FindsTypeThatModelsDefine) {
  Tree const planted = {
      {"fuzz/a.cpp", "AnyOp any;\nmodel::JumpOp op; NextOp next;\nfork(); // JumpOp\n"},
      {"models/ops/jump.hpp", "\nstruct JumpOp {\n};\n"},
      {"models/ops/run.hpp", "\nstruct RunOp {\n  JumpOp jump;\n};\n"},
      {"tests/harness/a_test.cpp", "RunOp op;\n"},
  };
  EXPECT_EQ(count_at(2, concrete_operations("fuzz/a.cpp", planted)), 1U);
  EXPECT_EQ(concrete_operations("models/ops/run.hpp", planted).size(), 0U);
  EXPECT_EQ(concrete_operations("tests/harness/a_test.cpp", planted).size(), 0U);
}

TEST(AsciiOnly, FindsOtherLetters) {
  EXPECT_EQ(count_at(2, ascii_only("docs/a.md", "plain\n\xc3\xa9\nplain\n")), 1U);
  EXPECT_EQ(count_at(1, ascii_only("CMakeLists.txt", "carriage return\r\n")), 1U);
  EXPECT_EQ(ascii_only("corpus/seed.bin", "\xc3\xa9").size(), 0U);
}

TEST(DeadLinks, FindsLinkToNowhere) {
  Tree const planted = {
      {"docs/a.md",
       "[b](b.md#part) [up](../dev) [folder](sub/) [web](https://example.org) [here](#here)\n"
       "[gone](gone.md)\n"
       "```\n[not](a-link.md)\n```\n# Here\n"},
      {"docs/b.md", "[out](../../out.md)\n## A part, \"quoted\"\n### Part\n"},
      {"docs/d.md",
       "[part](b.md#a-part-quoted)\n[no](b.md#parts) [not](#in-code)\n```\n# in code\n```\n"},
      {"docs/sub/c.md", "[root](/docs/a.md)"},
      {"dev", ""},
  };
  EXPECT_EQ(count_at(2, dead_links("docs/a.md", planted)), 1U);
  EXPECT_EQ(count_at(1, dead_links("docs/b.md", planted)), 1U);
  EXPECT_EQ(count_at(2, dead_links("docs/d.md", planted)), 2U);
  EXPECT_EQ(dead_links("docs/sub/c.md", planted).size(), 0U);
}

TEST(UnreachedDocument, FindsWhatNothingLinksTo) {
  Tree const planted = {
      {"README.md", "[a](docs/a.md#part)\n"},
      {"docs/a.md", "[b](b.md)\n"},
      {"docs/b.md", ""},
      {"docs/c.md", "[a](a.md)\n"},
  };
  EXPECT_EQ(unreached_document("docs/b.md", planted).size(), 0U);
  EXPECT_EQ(unreached_document("docs/c.md", planted).size(), 1U);
}

}  // namespace
}  // namespace holdfast::test::tidy
