// SPDX-License-Identifier: Apache-2.0
// On simulated devices: what a sequence may see is ordered before the stream that has it now, whether or
// not the call that brought it there touched a row.
#include <algorithm>

#include "fuzz/runner.hpp"

namespace holdfast::fuzz {

using invariant::Check;
using invariant::PlaneBinding;

/// Declares for each sequence that the operation left at rest that its stream reads all that it may see.
/// Who stays in its stream, with no work elsewhere, sees nothing new to that stream but what the stream wrote:
/// then one operation in some is enough.
void Runner::look_at_owned(Check const& check) {
  constexpr std::uint32_t kEvery = 16;
  model::Effects const effects = model::effects_of(*check.op);
  bool const takes_over = (effects.makes | effects.changes).has(model::Thing::kSequence);
  if (!world_ || internals_ == nullptr || !takes_over || !check.got.ok || !check.want.ok) {
    return;
  }
  Stream const stream = internals_->last_stream();
  bool const is_new = effects.makes.has(model::Thing::kSequence) || !effects.loads.is_empty() ||
                      world_->is_in_streams() || check.op_index % kEvery == 0;
  for (std::uint32_t i = 0; i < subject_count_; ++i) {
    Subject const& subject = subjects_[i];
    auto const& known = model_.sequence(subject.name);
    if (!known.live || known.tainted || known.open.open) {
      continue;
    }
    looked_in_.resize(std::max(looked_in_.size(), std::size_t{subject.name.value} + 1));
    std::optional<Stream>& last = looked_in_[subject.name.value];
    if (is_new || !last || !(*last == stream)) {
      look_at_planes(check, subject, stream);
    }
    last = stream;
  }
}

/// All rows and states of one sequence, on every device.
void Runner::look_at_planes(Check const& check, Subject const& subject, Stream stream) {
  Holder const holder = check.holder(subject.name);
  std::uint32_t const ranks = check.inspection.ranks();
  for (std::uint32_t device = 0; device < sim_devices_.size(); ++device) {
    looks_.clear();
    for (PlaneBinding const& plane : planes_) {
      PlaneState const& state = subject.now[plane.index];
      if (plane.info.stage != device / ranks) {
        continue;
      }
      if (plane.info.page_rows == 0) {
        std::byte const* const base = plane.bases[device % ranks];
        looks_.push_back({base + state.slot * plane.info.page_bytes,
                          state.slot == 0 ? 0 : plane.info.page_bytes});
        continue;
      }
      pages_.resize(state.pages);
      check.inspection.pages(holder, plane.index, 0, pages_);
      add_rows(plane, device % ranks, state);
    }
    sim_devices_[device]->look(looks_, stream);
  }
}

/// Resident rows of one plane on a rank; `pages_` has the sequence's table.
void Runner::add_rows(PlaneBinding const& plane, std::uint32_t rank, PlaneState const& state) {
  PlaneInfo const& info = plane.info;
  std::uint32_t count = 0;
  for (std::uint32_t row = info.window_rows == 0 ? 0 : state.lo; row < state.length; row += count) {
    std::uint32_t const first = row % info.page_rows;
    count = std::min(info.page_rows - first, state.length - row);
    std::uint32_t const entry = plane.entry_of_row(row);
    std::uint32_t const page = entry < pages_.size() ? pages_[entry] : 0;
    std::byte const* const base = plane.bases[rank] + page * info.page_bytes;
    if (page == 0) {
      continue;  // LEN says so
    }
    if (count == info.page_rows) {
      looks_.push_back({base, info.page_bytes});
      continue;
    }
    for (std::uint32_t layer = 0; layer < info.layers.size(); ++layer) {
      for (Strip const& strip : info.strips) {
        looks_.push_back({base + layer * info.strips.layer_bytes + strip.offset +
                              std::uint64_t{first} * strip.row_bytes,
                          std::uint64_t{count} * strip.row_bytes});
      }
    }
  }
}

}  // namespace holdfast::fuzz
