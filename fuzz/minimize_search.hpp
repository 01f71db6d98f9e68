// SPDX-License-Identifier: Apache-2.0
// The passes of the minimizer over one failing program.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzz/minimize.hpp"
#include "fuzz/verdict.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::fuzz {

/// The violation that every candidate must have.
struct Wanted {
  std::vector<std::string> ids;     ///< one of them must report
  std::optional<std::size_t> kind;  ///< of the failing operation; none: found at the end
  bool died = false;
  Keep keep = Keep::kViolation;
  std::vector<std::string> specs;
  bool at_end = false;  ///< it was found at the end; only then may a cause be found there

  /// What a failing program is reduced to.
  [[nodiscard]] static Wanted of(Verdict const& verdict);
  [[nodiscard]] bool is_met_by(Verdict const& verdict) const;
};

/// Names that both have.
[[nodiscard]] std::vector<std::string> common_ids(std::vector<std::string> const& one,
                                                  std::vector<std::string> const& other);

/// Greedy: what was found smaller is never given up again.
class MinimizeSearch {
 public:
  using Judge = std::function<Verdict(model::Geometry const&, std::span<model::AnyOp const>)>;
  /// Told before each candidate; false ends the search.
  using GoOn = std::function<bool(std::uint64_t candidates, std::size_t operations)>;

  /// `ops` must have the wanted violation.
  MinimizeSearch(model::Geometry geometry,
                 std::vector<model::AnyOp> ops,
                 Wanted wanted,
                 Judge judge,
                 GoOn go_on);
  void run();

  [[nodiscard]] model::Geometry const& geometry() const noexcept { return geometry_; }
  [[nodiscard]] std::vector<model::AnyOp> const& ops() const noexcept { return ops_; }
  [[nodiscard]] std::uint64_t candidates() const noexcept { return candidates_; }

 private:
  bool attempt(model::Geometry const& geometry, std::vector<model::AnyOp> ops);
  bool attempt(std::vector<model::AnyOp> ops) { return attempt(geometry_, std::move(ops)); }
  bool attempt_without(std::size_t first, std::size_t last);
  void slice();
  bool remove_chunks();
  bool remove_pairs();
  bool unify_names();
  bool merge_appends();
  bool merge_at(std::size_t index);
  bool make_plainer();
  bool make_larger_for_fewer();
  bool simplify_fields();
  bool simplify_geometry();
  bool drop_overrides();
  bool drop_layers();
  void write_canonically();

  model::Geometry geometry_;
  std::vector<model::AnyOp> ops_;
  Wanted wanted_;
  Judge judge_;
  GoOn go_on_;
  std::set<std::uint64_t> tried_;  // hashes of candidates
  std::uint64_t candidates_ = 0;
  bool stopped_ = false;
};

}  // namespace holdfast::fuzz
