// SPDX-License-Identifier: Apache-2.0
// Random programs in which every handle that ends gives back what the lineage said before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/generator.hpp"
#include "fuzz/runner.hpp"
#include "models/lineage/lineage.hpp"

namespace holdfast::test {

/// Runs programs on one geometry, until one gives back something else.
class LineageTrial {
 public:
  explicit LineageTrial(model::Geometry const& geometry)
      : runner_{geometry,
                {.on_begin = [this](model::AnyOp const& op) { predict(op); },
                 .on_step = [this](std::uint32_t /*index*/,
                                   model::AnyOp const& op,
                                   model::Observation const& /*want*/,
                                   model::Observation const& got) { compare(op, got); }}} {}

  /// Random operations, then the end of everything that is alive, in a random order.
  void run(std::uint64_t seed) {
    model::Source source{seed};
    model::LastNames last;
    std::uint32_t left = fuzz::program_length(seed);
    auto const next = [&](model::AnyOp& op) {
      if (left != 0 && flaw.empty()) {
        --left;
        op = runner_.generator().next(source, runner_.model(), last);
        return true;
      }
      return flaw.empty() && drop_one(source, op);
    };
    static_cast<void>(runner_.run(next));
    ++programs;
  }

  std::string flaw;              ///< of the first program that had one
  std::uint64_t programs = 0;    ///< that were run
  std::uint64_t drops = 0;       ///< of handles
  std::uint64_t given_back = 0;  ///< pages, slots and chunks, by them

 private:
  /// The holder that an operation ends, if it is alive.
  std::optional<Holder> ended_by(model::AnyOp const& op) const {
    model::Model const& model = runner_.model();
    model::HoldfastSystem const& system = runner_.system();
    if (auto const* const release = std::get_if<model::ReleaseOp>(&op);
        release != nullptr && model.sequence(release->sequence).live) {
      return Holder{HolderKind::kSequence, system.id(release->sequence).index};
    }
    if (auto const* const drop = std::get_if<model::DropSnapshotOp>(&op);
        drop != nullptr && model.snapshot_of(drop->snapshot).live) {
      return Holder{HolderKind::kSnapshot, system.id(drop->snapshot).index};
    }
    if (auto const* const erase = std::get_if<model::EraseOp>(&op);
        erase != nullptr && model.entry(erase->entry).live) {
      return Holder{HolderKind::kSnapshot, system.id(erase->entry).index};
    }
    return std::nullopt;
  }

  std::vector<model::FreeCounts> free_now() const {
    Inspection const inspection = runner_.system().inspect();
    std::vector<model::FreeCounts> counts(inspection.plane_count());
    for (std::uint32_t plane = 0; plane < counts.size(); ++plane) {
      counts[plane] = {inspection.pages_free(plane), inspection.chunks_free(plane)};
    }
    return counts;
  }

  void predict(model::AnyOp const& op) {
    expected_.clear();
    std::optional<Holder> const holder = ended_by(op);
    if (!holder) {
      return;
    }
    model::Lineage const lineage{runner_.system().inspect()};
    if (flaw.empty() && !lineage.flaw().empty()) {
      flaw = lineage.flaw() + ", before " + model::text_of(op);
    }
    expected_ = lineage.given_back_by(*holder);
    before_ = free_now();
  }

  void compare(model::AnyOp const& op, model::Observation const& got) {
    if (expected_.empty() || !got.ok) {
      return;
    }
    ++drops;
    std::vector<model::FreeCounts> const now = free_now();
    for (std::uint32_t plane = 0; plane < now.size(); ++plane) {
      std::uint32_t const pages = now[plane].pages - before_[plane].pages;
      std::uint32_t const chunks = now[plane].chunks - before_[plane].chunks;
      given_back += pages + chunks;
      if (flaw.empty() && (pages != expected_[plane].pages || chunks != expected_[plane].chunks)) {
        flaw = model::text_of(op) + " gave back " + std::to_string(pages) + " pages or slots and " +
               std::to_string(chunks) + " chunks of plane " + std::to_string(plane) +
               ", it dominates " + std::to_string(expected_[plane].pages) + " and " +
               std::to_string(expected_[plane].chunks);
      }
    }
  }

  /// The end of any handle that is alive; false when there is none.
  bool drop_one(model::Source& source, model::AnyOp& op) const {
    model::Model const& model = runner_.model();
    auto const sequences = static_cast<std::uint32_t>(model.live_sequences().size());
    auto const snapshots = static_cast<std::uint32_t>(model.live_snapshots().size());
    auto const entries = static_cast<std::uint32_t>(model.live_entries().size());
    if (sequences + snapshots + entries == 0) {
      return false;
    }
    std::uint32_t const chosen = source.below(sequences + snapshots + entries);
    if (chosen < sequences) {
      op = model::ReleaseOp{{model.live_sequences()[chosen]}};
    } else if (chosen < sequences + snapshots) {
      op = model::DropSnapshotOp{{model.live_snapshots()[chosen - sequences]}};
    } else {
      op = model::EraseOp{{model.live_entries()[chosen - sequences - snapshots]}};
    }
    return true;
  }

  fuzz::Runner runner_;
  std::vector<model::FreeCounts> expected_;  // by plane; empty when nothing ends
  std::vector<model::FreeCounts> before_;
};

}  // namespace holdfast::test
