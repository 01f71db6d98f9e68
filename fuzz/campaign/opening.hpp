// SPDX-License-Identifier: Apache-2.0
// What a supervisor finds in its folder, and shares with others.
#pragma once

#include <functional>
#include <string>

#include "fuzz/campaign/supervisor.hpp"

namespace holdfast::fuzz {

/// Buckets as they are on disk, without what was not finished.
[[nodiscard]] Findings open_findings(std::filesystem::path const& path);

/// Makes a corpus ready, with what is in the target's folder of seeds, if any. It must be readable, and
/// units of our own programs. A merge that was killed between its two renames is undone. Throws
/// model::InputError and FileError.
void open_corpus(CampaignFolder const& folder, std::string const& target, std::string const& seeds);

/// Runs the reproducers again: which failures of former campaigns are still there. The calling
/// process must have one thread.
void replay_known(Findings& findings);

/// The merged corpus that a job has made takes the corpus's place.
void take_merged(CampaignFolder const& folder, Job const& job);

/// Is told of a file that is no unit of its target, in one line.
using OnBadUnit = std::function<void(std::string const& line)>;

/// Units go to and come from the folder that campaigns share.
void exchange_units(CampaignFolder const& folder,
                    CampaignPlan const& plan,
                    OnBadUnit const& on_bad);

/// Copies the units of a target that `to` does not have. Folders and pipes are none.
void copy_units(std::filesystem::path const& from,
                std::filesystem::path const& to,
                std::string const& target,
                OnBadUnit const& on_bad);

}  // namespace holdfast::fuzz
