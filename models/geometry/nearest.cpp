// SPDX-License-Identifier: Apache-2.0
#include "models/geometry/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace holdfast::model {
namespace {

// Longer words are nobody's slip of the finger.
constexpr std::size_t kLongestWord = 64;

/// Least number of inserted, removed and replaced characters that turns `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t const replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::vector<std::string> const& known) {
  if (word.empty() || word.size() > kLongestWord) {
    return "";
  }
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (std::string const& candidate : known) {
    bool const begins = candidate.compare(0, word.size(), word) == 0;
    std::size_t const distance = begins ? 1 : edit_distance(word, candidate);
    // A word none of whose characters would remain is no suggestion.
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::vector<std::string> const& known) {
  std::string const candidate = nearest(word, known);
  return candidate.empty() ? "" : " (did you mean \"" + candidate + "\"?)";
}

}  // namespace holdfast::model
