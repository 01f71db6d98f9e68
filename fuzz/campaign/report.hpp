// SPDX-License-Identifier: Apache-2.0
// What a campaign came to: one page for people that needs no network, and the same for programs.
#pragma once

#include <functional>
#include <string>

#include "fuzz/campaign/supervisor.hpp"
#include "models/lineage/coverage.hpp"

namespace holdfast::fuzz {

struct ReportPlan {
  CampaignState const& state;
  Findings const& findings;
  std::vector<std::uint64_t> const& transitions;
  /// What the units of our own programs see.
  model::Coverage const& coverage;
  bool canary_reported = false;
  std::uint64_t units = 0;
  /// The command that shows a bucket again.
  std::function<std::string(std::string const& bucket, Bucket const& known)> reproduce;
};

[[nodiscard]] std::string report_json(ReportPlan const& plan);
/// One page of HTML with its plots.
[[nodiscard]] std::string report_html(ReportPlan const& plan);

}  // namespace holdfast::fuzz
