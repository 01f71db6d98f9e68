// SPDX-License-Identifier: Apache-2.0
// The laws of the library: each is one function, and one line in the table in laws.cpp.
//
// A law is stated without a model: two caches, or two sequences of one, must show the same bytes. Its
// function draws one case (RapidCheck) and fails it with RC_ASSERT or RC_FAIL.
#pragma once

#include <rapidcheck/detail/Results.h>

#include <span>
#include <string>

#include "tests/property/lab.hpp"

namespace holdfast::test {

// drafts.cpp
void accept_any_prefix(Setting const& setting);
void dropped_handle_was_never_open(Setting const& setting);
void last_writing_counts(Setting const& setting);
// rollbacks.cpp
void rollback_then_repeat(Setting const& setting);
void rollback_to_another(Setting const& setting);
void truncated_was_never_there(Setting const& setting);
// forks.cpp
void forks_are_apart(Setting const& setting);
void forks_are_histories(Setting const& setting);
// chunks.cpp
void chunks_are_one_append(Setting const& setting);
// steps.cpp
void step_is_its_items(Setting const& setting);
void order_and_padding_are_nothing(Setting const& setting);
// ranks.cpp
bool has_ranks(model::Geometry const& geometry);
void ranks_are_one(Setting const& setting);
// entries.cpp
void restored_is_the_original(Setting const& setting);

/// One law.
struct Law {
  char const* name;
  char const* text;
  int cases;            ///< for each geometry and round kind
  char const* mutants;  ///< seeded bugs of the library, each of which breaks it
  void (*check)(Setting const& setting);
  bool (*suits)(model::Geometry const& geometry) = nullptr;  ///< nullptr: every geometry
};

[[nodiscard]] std::span<Law const> all_laws() noexcept;

/// Geometries that the law is tried on: of the default ones those that suit.
[[nodiscard]] std::vector<model::Geometry> geometries_of(Law const& law);

/// Tries a law. RC_PARAMS chooses the seed; its max_success is the percentage of the law's cases.
[[nodiscard]] rc::detail::TestResult examine(Law const& law, Setting const& setting, bool shrinks);

}  // namespace holdfast::test
