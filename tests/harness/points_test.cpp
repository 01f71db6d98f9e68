// SPDX-License-Identifier: Apache-2.0
// Goal: the list of points is that of the library and of the harness, each has a site, and random
// programs meet them all. Method: join the lists by name; look for the sites in the sources; run.
#include "fuzz/points.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fuzz/run.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::fuzz {
namespace {

namespace fs = std::filesystem;

std::string content_of(fs::path const& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// How often `word` stands in the sources below a folder, files that define it left out.
std::uint32_t uses(std::string const& folder, std::string const& word) {
  std::uint32_t count = 0;
  for (auto const& entry :
       fs::recursive_directory_iterator{fs::path{HOLDFAST_SOURCE_DIR} / folder}) {
    std::string const name = entry.path().filename().string();
    bool const is_code = entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp";
    if (is_code && name != "points.cpp" && entry.path().stem() != "sometimes") {
      std::string const text = content_of(entry.path());
      for (std::size_t at = text.find(word); at != std::string::npos;
           at = text.find(word, at + 1)) {
        ++count;
      }
    }
  }
  return count;
}

TEST(Points, NamesAreTheLibrarysInItsOrder) {
  ASSERT_TRUE(has_library_points());
  std::vector<std::string> names;
  std::set<std::string> all;
  for (PointInfo const& info : all_points()) {
    EXPECT_STRNE(info.text, "") << info.name;
    EXPECT_TRUE(all.insert(info.name).second) << info.name;
    if (!info.of_harness) {
      names.emplace_back(info.name);
    }
  }
  EXPECT_EQ(names, library_points());
  EXPECT_GE(all.size(), 50U);
}

TEST(Points, EachHasASite) {
  // HOLDFAST_POINT_NAME(kName, "name")
  std::string const list = content_of(HOLDFAST_SOURCE_DIR "/lib/src/base/sometimes.def");
  std::uint32_t points = 0;
  std::string const begin = "\nHOLDFAST_POINT_NAME(";
  for (std::size_t at = list.find(begin); at != std::string::npos; at = list.find(begin, at + 1)) {
    std::size_t const first = at + begin.size();
    std::string const name = list.substr(first, list.find(',', first) - first);
    EXPECT_EQ(uses("lib/src", name + ","), 1U) << name;
    ++points;
  }
  EXPECT_EQ(points, library_points().size());
  std::string const header = content_of(HOLDFAST_SOURCE_DIR "/fuzz/points.hpp");
  std::size_t at = header.find("enum class HarnessPoint");
  for (at = header.find("\n  k", at); header.compare(at + 3, 6, "kCount") != 0;
       at = header.find("\n  k", at + 1)) {
    std::string const name = header.substr(at + 3, header.find(',', at) - at - 3);
    EXPECT_EQ(uses("fuzz", "HarnessPoint::" + name + ")"), 1U) << name;
  }
}

TEST(Points, RandomProgramsMeetThemAll) {
  std::vector<model::Geometry> geometries;
  for (std::string const& name : model::default_geometry_names()) {
    geometries.push_back(model::load_geometry(name));
  }
  EXPECT_FALSE(
      run_many({.geometries = geometries, .seed = 1, .operations = 1'000'000, .threads = 2})
          .failed);
  for (PointInfo const* point : points_never_met()) {
    ADD_FAILURE() << "never met: " << point->name << ": " << point->text;
  }
}

}  // namespace
}  // namespace holdfast::fuzz
