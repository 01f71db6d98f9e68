// SPDX-License-Identifier: Apache-2.0
// The process that runs programs for a campaign.
#pragma once

#include <functional>

#include "fuzz/campaign/job.hpp"

namespace holdfast::fuzz {

/// Does a job: what it finds lies in the spool and the corpus as soon as it is found, the result in
/// its work folder at the end. The process must have one thread; its mutant must be on. A program
/// that crashes takes the process along, which is what a supervisor looks for. Throws FileError and
/// model::InputError.
void run_job(Job const& job, std::function<bool()> const& should_stop);

}  // namespace holdfast::fuzz
