// SPDX-License-Identifier: Apache-2.0
// The end of a program: the deep checks, the digest of what is visible, whether everything is given
// back, and what it adds up to; and that of a sequence which leaves its step.
#include <xxhash.h>

#include <cstring>
#include <numeric>
#include <type_traits>

#include "fuzz/runner.hpp"

namespace holdfast::fuzz {

using invariant::Check;
using model::SequenceName;

std::string text_of(model::Observation const& answer) {
  return answer.ok ? "ok(" + std::to_string(answer.value) + ")" : name_of(answer.code);
}

std::uint64_t digest_of(model::Details const& says) noexcept {
  std::uint64_t digest = 0;
  std::uint64_t part = 0;
  auto const add = [&](std::uint64_t value) { digest = model::mix(digest ^ ++part, value); };
  auto const visit =
      [&](char const* /*name*/, auto said, auto /*same*/, std::uint32_t /*item*/ = 0) {
        if (!model::Details::is_said(said)) {
          ++part;
        } else if constexpr (std::is_pointer_v<decltype(said)>) {
          add(XXH3_64bits(said, std::strlen(said)));
        } else {
          add(static_cast<std::uint64_t>(said));
        }
      };
  model::Details::fields(says, says, visit);
  return digest;
}

std::uint64_t Counts::checks() const noexcept {
  return std::accumulate(by_invariant.begin(), by_invariant.end(), std::uint64_t{0});
}

void Counts::add(Counts const& other) noexcept {
  programs += other.programs;
  operations += other.operations;
  succeeded += other.succeeded;
  rows += other.rows;
  for (std::uint32_t i = 0; i < kInvariantLimit; ++i) {
    by_invariant[i] += other.by_invariant[i];
  }
}

/// Judges what a sequence wrote that is about to be released out of its step: afterwards anybody may have
/// its storage.
void Runner::look_at_leaver(Check const& check) {
  auto const leaver = model::leaver_of(*check.op);
  for (std::uint32_t i = 0; leaver && i < subject_count_; ++i) {
    Subject& subject = subjects_[i];
    if (subject.name == *leaver) {
      invariant::check_owner({.visible = check.visible,
                              .internals = check.internals,
                              .inspection = check.inspection,
                              .planes = check.planes,
                              .model = check.model,
                              .places = subject.places,
                              .now = subject.now,
                              .before = subject.before,
                              .op = check.op,
                              .subject = subject.name},
                             report_);
      subject.places.clear();
    }
  }
}

void Runner::finish(ProgramResult& result) {
  is_at_end_ = true;
  if (ops_.empty()) {
    return;
  }
  faults_.heal();
  settle();
  Check check = make_check();
  check.op = &ops_.back();
  check.op_index = static_cast<std::uint32_t>(ops_.size() - 1);
  check.sim = world_.get();
  look_for_undeclared(check, true);
  evaluate(check, false, true, result);
  if (report_.is_clean()) {
    digest_visible(result);
    system_->drop_all();
    check.drained = true;
    while (!model_.live_sequences().empty()) {
      model_.release({model_.live_sequences().front()});
    }
    while (!model_.live_snapshots().empty()) {
      model_.drop_snapshot({model_.live_snapshots().front()});
    }
    while (!model_.live_entries().empty()) {
      model_.erase({model_.live_entries().front()});
    }
    settle();
    evaluate(check, false, true, result);
    if (report_.is_clean() && !system_->close().ok) {
      report_.add({.id = "CONSERVE", .text = "every handle is gone, but the cache does not close"});
    }
  }
  if (!report_.is_clean()) {
    fail(check.op_index, result);
  }
}

/// When the program is over, so that all that it enqueued is known.
void Runner::explain_order(ProgramResult& result) const {
  if (result.failure && world_ && options_.explain_order && world_->order().conflict()) {
    result.failure->why = order_log_.witness(*world_, *world_->order().conflict());
  }
}

void Runner::digest_visible(ProgramResult& result) {
  Check const check = make_check();
  if (world_) {
    world_->set_peeking(true);
  }
  bytes_.clear();
  std::uint32_t const ranks = model_.shape().ranks;
  auto const read_holder = [&](model::Label holder, model::History const& history) {
    for (invariant::PlaneBinding const& plane : planes_) {
      for (std::uint32_t layer = 0; layer < plane.model_planes.size(); ++layer) {
        model::HistoryView const view = model_.view(history, plane.model_planes[layer]);
        model::RowRange const rows =
            plane.reference->rows(model_.shape().planes[plane.model_planes[layer]], view);
        std::size_t const elements = std::size_t{rows.last - rows.first} * plane.info.row_elements;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          std::size_t const at = bytes_.size();
          bytes_.resize(at + elements);
          static_cast<void>(check.visible.read_rows(holder,
                                                    {.plane = plane.index,
                                                     .layer_index = layer,
                                                     .first = rows.first,
                                                     .count = rows.last - rows.first,
                                                     .rank = rank},
                                                    {bytes_.data() + at, elements}));
        }
      }
    }
    std::size_t const elements = model_.shape().shard_state_elements;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      std::size_t const at = bytes_.size();
      bytes_.resize(at + elements);
      static_cast<void>(check.visible.read_state(holder, rank, {bytes_.data() + at, elements}));
    }
  };
  invariant::for_each_sequence(check, [&](SequenceName name, model::History const& history) {
    if (!model_.sequence(name).tainted) {
      read_holder(model::label(name), history);
    }
  });
  invariant::for_each_held(check, read_holder);
  result.digest =
      model::mix(result.digest, XXH3_64bits(bytes_.data(), bytes_.size() * sizeof(float)));
  if (world_) {
    world_->set_peeking(false);
  }
}

}  // namespace holdfast::fuzz
