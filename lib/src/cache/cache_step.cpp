// SPDX-License-Identifier: Apache-2.0
// The public handle of a step: a thin owner of its id over the core.
#include <holdfast/cache.hpp>

#include "base/mutants.hpp"
#include "cache/core.hpp"
#include "cache/core_errors.hpp"

namespace holdfast {

using internal::cache::stale;

namespace {

/// What `use(id, ticket)` returns for the sequence that an item of a step holds open.
template <typename Core, typename Use>
auto with_item(Core* core, HandleId step, std::uint32_t item, Use use) noexcept
    -> decltype(use(HandleId{}, std::uint64_t{})) {
  if (core == nullptr) {
    return stale("step");
  }
  std::uint64_t ticket = 0;
  auto const known = core->step_item(step, item, &ticket);
  if (!known) {
    return known.error();
  }
  return use(known->id, ticket);
}

}  // namespace

Step::~Step() {
  if (core_ != nullptr) {
    static_cast<void>(core_->drop_step(id_, {}, true));
  }
}

Step& Step::operator=(Step&& other) noexcept {
  if (this != &other) {
    Step const over{std::move(*this)};
    swap(other);
  }
  return *this;
}

Status Step::write(std::uint32_t item,
                   PlaneKind plane,
                   std::uint32_t layer,
                   float const* source,
                   std::uint32_t first,
                   std::uint32_t count,
                   Stream stream,
                   std::uint32_t rank) noexcept {
  return with_item(core_, id_, item, [&](HandleId id, std::uint64_t ticket) {
    return core_->write_rows(id,
                             ticket,
                             {.view = {}, .source = source, .first = first, .count = count},
                             plane,
                             layer,
                             rank,
                             stream);
  });
}

Status Step::write_all(PlaneKind plane,
                       std::uint32_t layer,
                       std::uint32_t layers,
                       float const* source,
                       Stream stream,
                       std::uint32_t rank) noexcept {
  PlaneRows const rows{.plane = plane, .layer = layer, .layers = layers, .source = source};
  return write_all({&rows, 1}, stream, rank);
}

Status Step::write_all(std::span<PlaneRows const> classes,
                       Stream stream,
                       std::uint32_t rank) noexcept {
  return core_ == nullptr ? Status{stale("step")} : core_->write_step(id_, classes, rank, stream);
}

Result<GraphSignature> Step::signature() const noexcept {
  return core_ == nullptr ? Result<GraphSignature>{stale("step")} : core_->signature(id_);
}

Status Step::replay(GraphSignature const& signature, Stream stream) noexcept {
  return core_ == nullptr ? Status{stale("step")} : core_->replay(id_, signature, stream);
}

Result<RowsView> Step::rows(std::uint32_t item,
                            PlaneKind plane,
                            std::uint32_t layer,
                            std::uint32_t written,
                            std::uint32_t rank) noexcept {
  return with_item(core_, id_, item, [&](HandleId id, std::uint64_t ticket) {
    return core_->rows_view(id, ticket, plane, layer, written, rank);
  });
}

Result<OpenRange> Step::range(std::uint32_t item,
                              PlaneKind plane,
                              std::uint32_t layer) const noexcept {
  return with_item(core_, id_, item, [&](HandleId id, std::uint64_t ticket) {
    return core_->range(id, ticket, plane, layer);
  });
}

Result<StateView> Step::state(std::uint32_t item,
                              std::uint32_t layer,
                              std::uint32_t written,
                              std::uint32_t rank) noexcept {
  return with_item(core_, id_, item, [&](HandleId id, std::uint64_t ticket) {
    return core_->state_view(id, ticket, layer, written, rank);
  });
}

Result<HeldView> Step::held(std::uint32_t item,
                            std::uint32_t layer,
                            std::uint32_t written,
                            std::uint32_t rank) noexcept {
  return with_item(core_, id_, item, [&](HandleId id, std::uint64_t ticket) {
    return core_->held_view(id, ticket, layer, written, rank);
  });
}

Result<StashView> Step::stash(std::uint32_t item,
                              std::uint32_t layer,
                              std::uint32_t written,
                              std::uint32_t rank) noexcept {
  return with_item(core_, id_, item, [&](HandleId id, std::uint64_t ticket) {
    return core_->stash_view(id, ticket, layer, written, rank);
  });
}

Result<bool> Step::drop_is_exact(std::uint32_t item) const noexcept {
  std::uint32_t const asked = HOLDFAST_MUTANT(kExactOfFirstItem) ? 0 : item;
  return with_item(core_, id_, asked, [&](HandleId id, std::uint64_t ticket) {
    return core_->drop_is_exact(id, ticket);
  });
}

Result<std::uint32_t const*> Step::row_sequences(std::uint32_t device) const noexcept {
  return core_ == nullptr ? Result<std::uint32_t const*>{stale("step")}
                          : core_->row_sequences(id_, device);
}

Status Step::finish(std::span<std::uint32_t const> keep,
                    std::span<Accepted> accepted,
                    Stream stream) noexcept {
  return core_ == nullptr ? stale("step") : core_->finish_step(id_, keep, accepted, stream);
}

Status Step::drop(Stream stream) noexcept {
  return core_ == nullptr ? stale("step") : core_->drop_step(id_, stream, false);
}

}  // namespace holdfast
