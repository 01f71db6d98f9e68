// SPDX-License-Identifier: Apache-2.0
// The rules of style that a machine checks. Each is a function over one file; `Tree` is there for
// rules that need to know what else exists. Pure: no rule reads a file or starts a process.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test::tidy {

/// Path from the repository's root -> text, of every file that git knows.
using Tree = std::map<std::string, std::string>;

struct Breach {
  std::string path;
  int line = 0;  // 1-based; 0 for the file as a whole
  std::string what;
};

/// "path:line: what".
std::string describe(Breach const& breach);

/// Comments and the insides of literals become blanks; lines keep their numbers.
std::string without_comments_and_literals(std::string_view text);

using Breaches = std::vector<Breach>;

/// Layers: lib <- models <- invariants <- fuzz <- {tools, tests, bench}; examples see lib alone.
Breaches include_layers(std::string const& path, std::string_view text);

/// 600 lines a file, 800 in tests; a table holds the exceptions.
Breaches file_length(std::string const& path, std::string_view text);

/// Words that make a run unrepeatable or a layer impure, each with what to use instead.
Breaches banned_words(std::string const& path, std::string_view text);

/// Every .cpp and geometry is named in a CMakeLists.txt of its folder or of one above.
Breaches unlisted_file(std::string const& path, Tree const& tree);

/// The harness outside models/ops names no type of operation.
Breaches concrete_operations(std::string const& path, Tree const& tree);

/// Code, CMake, scripts and documents are plain ASCII.
Breaches ascii_only(std::string const& path, std::string_view text);

/// Relative links in documents lead to a file or folder of the tree, and to a heading that is there.
Breaches dead_links(std::string const& path, Tree const& tree);

/// Every document can be reached from README.md by links.
Breaches unreached_document(std::string const& path, Tree const& tree);

}  // namespace holdfast::test::tidy
