// SPDX-License-Identifier: Apache-2.0
// The public handles: thin owners of ids over the core.
#include <algorithm>
#include <holdfast/cache.hpp>
#include <new>

#include "cache/core.hpp"
#include "cache/core_errors.hpp"

namespace holdfast {

using internal::cache::Core;
using internal::cache::invalid;
using internal::cache::of_item;
using internal::cache::OpenKind;
using internal::cache::stale;

namespace detail {

HandleBase::HandleBase(Core* core, HandleId id) noexcept : core_{core}, id_{id} {
  core_->add_handle();
}

HandleBase::~HandleBase() {
  if (core_ != nullptr) {
    core_->remove_handle();
  }
}

Result<RowsView> OpenRows::rows(PlaneKind plane,
                                std::uint32_t layer,
                                std::uint32_t written,
                                std::uint32_t rank) noexcept {
  if (core_ == nullptr) {
    return stale("handle");
  }
  return core_->rows_view(id_, ticket_, plane, layer, written, rank);
}

Result<OpenRange> OpenRows::range(PlaneKind plane, std::uint32_t layer) const noexcept {
  if (core_ == nullptr) {
    return stale("handle");
  }
  return core_->range(id_, ticket_, plane, layer);
}

Result<StateView> OpenRows::state(std::uint32_t layer,
                                  std::uint32_t written,
                                  std::uint32_t rank) noexcept {
  if (core_ == nullptr) {
    return stale("handle");
  }
  return core_->state_view(id_, ticket_, layer, written, rank);
}

Result<StashView> OpenRows::stash(std::uint32_t layer,
                                  std::uint32_t written,
                                  std::uint32_t rank) noexcept {
  if (core_ == nullptr) {
    return stale("handle");
  }
  return core_->stash_view(id_, ticket_, layer, written, rank);
}

Result<HeldView> OpenRows::held(std::uint32_t layer,
                                std::uint32_t written,
                                std::uint32_t rank) noexcept {
  if (core_ == nullptr) {
    return stale("handle");
  }
  return core_->held_view(id_, ticket_, layer, written, rank);
}

Status OpenRows::write_rows(PlaneKind plane,
                            std::uint32_t layer,
                            float const* source,
                            std::uint32_t first,
                            std::uint32_t count,
                            Stream stream,
                            std::uint32_t rank) noexcept {
  if (core_ == nullptr) {
    return stale("handle");
  }
  return core_->write_rows(id_,
                           ticket_,
                           {.view = {}, .source = source, .first = first, .count = count},
                           plane,
                           layer,
                           rank,
                           stream);
}

Status OpenRows::cancel(Stream stream) noexcept {
  if (core_ == nullptr) {
    return stale("handle");
  }
  internal::cache::ItemKeep item{.id = id_, .keep = 0, .item = -1, .accepted = {}};
  return core_->drop({&item, 1}, ticket_, stream);
}

Result<Accepted> OpenRows::accept_rows(std::uint32_t keep, Stream stream) noexcept {
  if (core_ == nullptr) {
    return stale("handle");
  }
  internal::cache::ItemKeep item{.id = id_, .keep = keep, .item = -1, .accepted = {}};
  HOLDFAST_TRY(core_->finish({&item, 1}, ticket_, stream));
  return item.accepted;
}

void OpenRows::take_over(OpenRows& other) noexcept {
  static_cast<void>(cancel(Stream{}));
  swap(other);
  std::swap(ticket_, other.ticket_);
}

}  // namespace detail

Append::~Append() {
  static_cast<void>(drop());
}

Append& Append::operator=(Append&& other) noexcept {
  if (this != &other) {
    take_over(other);
  }
  return *this;
}

Status Append::write(PlaneKind plane,
                     std::uint32_t layer,
                     float const* source,
                     std::uint32_t count,
                     Stream stream,
                     std::uint32_t rank) noexcept {
  return write_rows(plane, layer, source, 0, count, stream, rank);
}

Status Append::commit(Stream stream) noexcept {
  if (core_ == nullptr) {
    return stale("handle");
  }
  auto const rows = core_->open_rows(id_, ticket_);
  HOLDFAST_TRY(rows);
  auto const accepted = accept_rows(*rows, stream);
  return accepted ? Status{} : Status{accepted.error()};
}

Status Append::drop(Stream stream) noexcept {
  return cancel(stream);
}

Result<bool> Append::drop_is_exact() const noexcept {
  return core_ == nullptr ? Result<bool>{stale("handle")} : core_->drop_is_exact(id_, ticket_);
}

Round::~Round() {
  static_cast<void>(drop());
}

Round& Round::operator=(Round&& other) noexcept {
  if (this != &other) {
    take_over(other);
  }
  return *this;
}

Status Round::write(PlaneKind plane,
                    std::uint32_t layer,
                    float const* source,
                    std::uint32_t first,
                    std::uint32_t count,
                    Stream stream,
                    std::uint32_t rank) noexcept {
  return write_rows(plane, layer, source, first, count, stream, rank);
}

Result<Accepted> Round::accept(std::uint32_t keep, Stream stream) noexcept {
  return accept_rows(keep, stream);
}

Status Round::drop(Stream stream) noexcept {
  return cancel(stream);
}

Sequence::~Sequence() {
  static_cast<void>(release());
}

Sequence& Sequence::operator=(Sequence&& other) noexcept {
  if (this != &other) {
    static_cast<void>(release());
    swap(other);
  }
  return *this;
}

Result<Append> Sequence::append(std::uint32_t rows, Stream stream, AppendMode mode) noexcept {
  if (core_ == nullptr) {
    return stale("sequence");
  }
  internal::cache::ItemRequest const item{.id = id_,
                                          .kind = OpenKind::kAppend,
                                          .rows = rows,
                                          .mode = internal::cache::state_mode(mode)};
  auto const ticket = core_->begin({&item, 1}, false, stream);
  if (!ticket) {
    return ticket.error();
  }
  return Append{core_, id_, *ticket};
}

Result<Round> Sequence::verify(std::uint32_t rows, Stream stream, RoundKind kind) noexcept {
  if (core_ == nullptr) {
    return stale("sequence");
  }
  internal::cache::ItemRequest const item{
      .id = id_, .kind = OpenKind::kRound, .rows = rows, .mode = internal::cache::state_mode(kind)};
  auto const ticket = core_->begin({&item, 1}, false, stream);
  if (!ticket) {
    return ticket.error();
  }
  return Round{core_, id_, *ticket};
}

Result<Snapshot> Sequence::snapshot() noexcept {
  if (core_ == nullptr) {
    return stale("sequence");
  }
  auto const id = core_->snapshot(id_);
  if (!id) {
    return id.error();
  }
  return Snapshot{core_, *id};
}

Status Sequence::rollback(Snapshot const& snapshot, Stream stream) noexcept {
  return core_ == nullptr ? stale("sequence")
                          : core_->rollback(id_, snapshot.core_, snapshot.id_, stream);
}

Status Sequence::truncate(std::uint32_t length, Stream stream) noexcept {
  return core_ == nullptr ? stale("sequence") : core_->truncate(id_, length, stream);
}

Status Sequence::can_truncate(std::uint32_t length) const noexcept {
  return core_ == nullptr ? stale("sequence") : core_->can_truncate(id_, length);
}

Status Sequence::release(Stream stream) noexcept {
  return core_ == nullptr ? stale("sequence") : core_->release(id_, stream);
}

Result<std::uint32_t> Sequence::position() const noexcept {
  return core_ == nullptr ? Result<std::uint32_t>{stale("sequence")} : core_->position(id_);
}

Snapshot::~Snapshot() {
  static_cast<void>(drop());
}

Snapshot& Snapshot::operator=(Snapshot&& other) noexcept {
  if (this != &other) {
    static_cast<void>(drop());
    swap(other);
  }
  return *this;
}

Result<Sequence> Snapshot::fork(Stream stream) noexcept {
  if (core_ == nullptr) {
    return stale("snapshot");
  }
  auto const id = core_->fork(id_, stream);
  if (!id) {
    return id.error();
  }
  return Sequence{core_, *id};
}

Status Snapshot::drop() noexcept {
  return core_ == nullptr ? stale("snapshot") : core_->drop_snapshot(id_);
}

Result<std::uint32_t> Snapshot::position() const noexcept {
  return core_ == nullptr ? Result<std::uint32_t>{stale("snapshot")}
                          : core_->snapshot_position(id_);
}

Cache& Cache::operator=(Cache&& other) noexcept {
  std::swap(core_, other.core_);
  return *this;
}

Cache::~Cache() {
  if (core_ != nullptr) {
    core_->orphan();
    core_->remove_handle();
  }
}

Result<Cache> Cache::create(Layout const& layout, Device& device) noexcept {
  Device* const one = &device;
  return create(layout, {&one, 1});
}

Result<Cache> Cache::create(Layout const& layout, std::span<Device* const> devices) noexcept {
  bool const usable = !devices.empty() && devices.size() <= kLargestDeviceCount &&
                      std::find(devices.begin(), devices.end(), nullptr) == devices.end();
  if (!usable) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .text = "must be one for each rank of each stage",
                 .subject = "devices",
                 .got = static_cast<std::int64_t>(devices.size())};
  }
  auto* const core = new (std::nothrow) Core{devices};
  if (core == nullptr) {
    return Error{.code = ErrorCode::kOutOfMemory,
                 .text = "the host has no memory for a cache",
                 .subject = "cache"};
  }
  core->add_handle();
  if (Status const created = core->create(layout); !created) {
    core->remove_handle();
    return created.error();
  }
  return Cache{core};
}

Result<Sequence> Cache::create_sequence(Stream stream) noexcept {
  if (core_ == nullptr) {
    return stale("cache");
  }
  auto const id = core_->create_sequence(stream);
  if (!id) {
    return id.error();
  }
  return Sequence{core_, *id};
}

/// What is wrong with the items by themselves.
Status Cache::check(std::span<StepItem const> items) const noexcept {
  if (core_ == nullptr) {
    return stale("cache");
  }
  if (items.empty() || items.size() > core_->step_item_limit()) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .text = "must be at least one, and not many more than twice the sequences",
                 .subject = "items",
                 .got = static_cast<std::int64_t>(items.size()),
                 .limit = core_->step_item_limit()};
  }
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    StepItem const& item = items[i];
    if ((item.sequence == nullptr) != (item.kind == StepKind::kPad)) {
      return of_item(invalid("items", "padding has no sequence, anything else has one"), i);
    }
    if (item.sequence != nullptr && item.sequence->core_ == nullptr) {
      return of_item(stale("sequence"), i);
    }
    if (item.sequence != nullptr && item.sequence->core_ != core_) {
      return of_item(invalid("items", "belongs to another cache"), i);
    }
  }
  return {};
}

Status Cache::can_begin(std::span<StepItem const> items) const noexcept {
  HOLDFAST_TRY(check(items));
  return core_->can_begin_step(items);
}

Result<Step> Cache::begin(std::span<StepItem const> items, Stream stream) noexcept {
  HOLDFAST_TRY(check(items));
  auto const id = core_->begin_step(items, stream);
  if (!id) {
    return id.error();
  }
  return Step{core_, *id};
}

Result<EntryId> Cache::capture(PrefixScope const& scope,
                               Snapshot const& snapshot,
                               std::span<TokenKey const> tokens) noexcept {
  if (core_ == nullptr) {
    return stale("cache");
  }
  return core_->capture(scope, snapshot.core_, snapshot.id_, tokens);
}

Result<PrefixMatch> Cache::match(PrefixScope const& scope,
                                 std::span<TokenKey const> tokens,
                                 std::uint32_t limit) const noexcept {
  if (core_ == nullptr) {
    return stale("cache");
  }
  return core_->match(scope, tokens, limit);
}

Result<Restored> Cache::restore(PrefixScope const& scope,
                                std::span<TokenKey const> tokens,
                                std::uint32_t limit,
                                Stream stream) noexcept {
  if (core_ == nullptr) {
    return stale("cache");
  }
  auto const ids = core_->restore(scope, tokens, limit, stream);
  if (!ids) {
    return ids.error();
  }
  return Restored{.sequence = Sequence{core_, ids->sequence},
                  .length = ids->match.length,
                  .entry = ids->match.entry};
}

Status Cache::erase(EntryId entry) noexcept {
  return core_ == nullptr ? stale("cache") : core_->erase(entry);
}

Result<EntryBytes> Cache::entry_bytes(EntryId entry) const noexcept {
  if (core_ == nullptr) {
    return stale("cache");
  }
  return core_->entry_bytes(entry);
}

Result<std::uint64_t> Cache::serialize(EntryId entry,
                                       std::span<std::byte> out,
                                       Stream stream) const noexcept {
  if (core_ == nullptr) {
    return stale("cache");
  }
  return core_->serialize(entry, out, stream);
}

Result<EntryId> Cache::deserialize(PrefixScope const& scope,
                                   std::span<std::byte const> bytes,
                                   Stream stream) noexcept {
  if (core_ == nullptr) {
    return stale("cache");
  }
  return core_->deserialize(scope, bytes, stream);
}

Status Cache::set_rescan(Rescan function, void* context) noexcept {
  return core_ == nullptr ? stale("cache") : core_->set_rescan(function, context);
}

Status Cache::close() noexcept {
  return core_ == nullptr ? stale("cache") : core_->close();
}

Inspection Cache::inspect() const noexcept {
  return Inspection{core_};
}

}  // namespace holdfast
