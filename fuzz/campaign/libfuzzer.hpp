// SPDX-License-Identifier: Apache-2.0
// How libFuzzer is called, and what its end means.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz/campaign/job.hpp"

namespace holdfast::fuzz {

/// A target and the options that lie beside it.
[[nodiscard]] std::vector<std::string> target_words(std::string const& program);

/// A seed that libFuzzer takes; 0 would mean any.
[[nodiscard]] std::uint64_t libfuzzer_seed(std::uint64_t seed, std::uint64_t number) noexcept;

/// The words that fuzz for a job, with the dictionary and options that lie beside the target.
[[nodiscard]] std::vector<std::string> fuzz_words(std::string const& program,
                                                  Job const& job,
                                                  double time_out);

/// The words that write into `merged` as few units as cover what the corpus covers.
[[nodiscard]] std::vector<std::string> merge_words(std::string const& program,
                                                   std::filesystem::path const& merged,
                                                   std::filesystem::path const& corpus);

/// How a target ended.
struct FuzzEnd {
  std::uint64_t executed = 0;  ///< inputs
  std::uint64_t features = 0;
  bool memory = false;  ///< it took too much, which is no finding
  std::string input;    ///< that killed it; "" for none
  std::string death;    ///< "HANG", "EXIT 77"
  std::string refusal;  ///< why it did not fuzz at all
};

[[nodiscard]] FuzzEnd read_end(Job const& job, int status, std::string const& log);

/// Whether the program is a target that libFuzzer drives, and not one that only runs inputs again.
[[nodiscard]] bool is_driven(std::filesystem::path const& program);

}  // namespace holdfast::fuzz
