// SPDX-License-Identifier: Apache-2.0
#include "adapters/holdfast/engine.hpp"

#include <algorithm>
#include <utility>

#include "models/input_error.hpp"

namespace holdfast::adapters {
namespace {

using model::StateMode;
using model::Token;

constexpr std::uint32_t kNoLogits = UINT32_MAX;
constexpr std::uint32_t kSnapshots = 64;
constexpr std::uint32_t kEntries = 8;
constexpr PrefixScope kScope{.model = 1, .adapter = 2, .tenant = 3};

std::vector<std::uint32_t> joined(std::vector<std::uint32_t> first,
                                  std::vector<std::uint32_t> const& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// The ids as a prompt shows them.
std::vector<TokenKey> keys_of(std::vector<std::uint32_t> const& ids) {
  return {ids.begin(), ids.end()};
}

/// Whether logits are wanted after a row that is not the last.
bool wants_between(std::vector<std::uint32_t> const& outs) {
  return !outs.empty() && std::any_of(outs.begin(), outs.end() - 1, [](std::uint32_t out) {
    return out != kNoLogits;
  });
}

}  // namespace

model::Geometry geometry_of(Settings const& settings) {
  model::Geometry const known = model::load_geometry(settings.geometry);
  std::vector<model::Override> sizes = {{"sequences", kSlots + 2},
                                        {"tokens", kTokens},
                                        {"largest_round", kRound},
                                        {"snapshots", kSnapshots + 2},
                                        {"entries", kEntries},
                                        {"slots", settings.scarce ? 14 : 0},
                                        {"pages", settings.scarce ? 24 : 0},
                                        {"ring_pages", settings.scarce ? 10 : 0}};
  if (settings.wide) {
    std::uint32_t rows = 0;
    for (model::PlaneShape const& plane : model::make_model_shape(known.layout).planes) {
      rows = std::max(rows, plane.ring_rows);
    }
    sizes.emplace_back("page_rows", rows == 0 ? 16 : rows);
  }
  return model::with_overrides(known, std::move(sizes));
}

Engine::Engine(Settings const& settings, model::Geometry const& geometry)
    : settings_{settings},
      shape_{model::make_model_shape(geometry.layout)},
      meaning_{shape_},
      host_{make_host_device()},
      devices_(std::size_t{shape_.ranks} * shape_.stages, host_.get()),
      toy_{shape_, *host_, devices_} {
  if (settings.state == StateMode::kRescan && !shape_.can_rescan()) {
    throw model::InputError("states of this geometry stash nothing");
  }
  auto cache = Cache::create(geometry.layout, devices_);
  if (!cache) {
    throw model::InputError(describe(cache.error()));
  }
  cache_ = std::move(*cache);
  if (Status const set = cache_.set_rescan(&model::ToyEngine::rescan, &toy_); !set) {
    throw model::InputError(describe(set.error()));
  }
  sight_.emplace(shape_, cache_.inspect());
  for (Slot& slot : slots_) {
    renew(slot);
  }
}

void Engine::renew(Slot& slot) {
  slot.ids.clear();
  slot.sequence = Sequence{};
  static_cast<void>(ensure(slot));  // or as soon as there is room
}

Status Engine::ensure(Slot& slot) {
  if (slot.sequence.position()) {
    return {};
  }
  auto fresh = cache_.create_sequence();
  HOLDFAST_TRY(fresh);
  slot.sequence = std::move(*fresh);
  return {};
}

/// The rows of a batch by sequence. A sequence that comes twice is one part when merged, and two when not.
Engine::Parts Engine::parts_of(std::vector<BatchRow> const& batch, bool merged) {
  Parts parts;
  std::uint32_t wanted = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Slot* const slot = &slots_[batch[i].sequence % kSlots];
    auto found = std::find_if(
        parts.begin(), parts.end(), [&](Part const& part) { return part.slot == slot; });
    if (!merged && i != 0 && batch[i].sequence != batch[i - 1].sequence) {
      found = parts.end();
    }
    Part& part = found == parts.end() ? parts.emplace_back() : *found;
    part.slot = slot;
    part.ids.push_back(batch[i].token);
    part.outs.push_back(batch[i].wanted ? wanted++ : kNoLogits);
  }
  return parts;
}

Status Engine::decode(std::vector<BatchRow> const& batch, std::vector<Logits>& out) {
  out.resize(static_cast<std::size_t>(
      std::count_if(batch.begin(), batch.end(), [](BatchRow const& row) { return row.wanted; })));
  Parts parts = parts_of(batch, true);
  Parts as_given = parts_of(batch, false);
  for (Part& part : parts) {
    HOLDFAST_TRY(ensure(*part.slot));
  }
  if (as_given.size() != parts.size() && as_given.size() < model::kStepItemLimit &&
      open(as_given)) {
    return run(as_given, out);  // the library says that a sequence may stand in a step twice
  }
  std::vector<Slot*> started;
  for (Part& part : parts) {
    if (settings_.prefix && part.slot->ids.empty()) {
      start_from_prefix(part);
      started.push_back(part.slot);
    }
  }
  Status const done = run(parts, out);
  for (std::size_t i = 0; i < started.size() && !done; ++i) {
    renew(*started[i]);
  }
  return done;
}

/// Rows from the first one on after which logits are wanted are computed, and one at least.
void Engine::start_from_prefix(Part& part) {
  std::uint32_t limit = 0;
  while (limit + 1 < part.ids.size() && part.outs[limit] == kNoLogits) {
    ++limit;
  }
  auto restored = cache_.restore(kScope, keys_of(part.ids), limit);
  if (!restored) {
    return;
  }
  auto const length =
      static_cast<std::ptrdiff_t>(std::min<std::size_t>(restored->length, part.ids.size()));
  part.slot->sequence = std::move(restored->sequence);
  part.slot->ids.assign(part.ids.begin(), part.ids.begin() + length);
  part.ids.erase(part.ids.begin(), part.ids.begin() + length);
  part.outs.erase(part.outs.begin(), part.outs.begin() + length);
}

Status Engine::draft(std::vector<BatchRow> const& batch,
                     std::uint32_t keep,
                     std::vector<Logits>& out) {
  out.resize(static_cast<std::size_t>(
      std::count_if(batch.begin(), batch.end(), [](BatchRow const& row) { return row.wanted; })));
  Parts parts = parts_of(batch, true);
  if (parts.empty()) {
    return {};
  }
  Part& part = parts.front();
  HOLDFAST_TRY(ensure(*part.slot));
  keep = std::min(keep, static_cast<std::uint32_t>(part.ids.size()));
  if (part.ids.size() <= kRound) {
    part.round = true;
    part.keep = keep;
    return run(parts, out);
  }
  // More rows than a round has go to a fork, and those that are kept are done again.
  Slot& slot = *part.slot;
  auto snapshot = slot.sequence.snapshot();
  HOLDFAST_TRY(snapshot);
  auto forked = snapshot->fork();
  HOLDFAST_TRY(forked);
  Slot other{std::move(*forked), slot.ids};
  part.slot = &other;
  HOLDFAST_TRY(run(parts, out));
  other.sequence = Sequence{};
  std::vector<std::uint32_t> kept;
  std::for_each_n(batch.begin(), keep, [&](BatchRow const& row) { kept.push_back(row.token); });
  return append(slot, kept);
}

Status Engine::append(Slot& slot, std::vector<std::uint32_t> const& ids) {
  if (ids.empty()) {
    return {};
  }
  std::vector<Logits> none;
  Parts parts(1);
  parts.front() = {
      .slot = &slot, .ids = ids, .outs = std::vector<std::uint32_t>(ids.size(), kNoLogits)};
  return run_once(parts, none);
}

Status Engine::run(Parts& parts, std::vector<Logits>& out) {
  if (settings_.tries) {
    auto step = open(parts);
    HOLDFAST_TRY(step);
    HOLDFAST_TRY(write(*step, parts, out));
    bool exact = true;
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
      auto const said = step->drop_is_exact(first_item() + i);
      HOLDFAST_TRY(said);
      exact = exact && *said;
    }
    if (!exact) {
      return finish(*step, parts);
    }
    HOLDFAST_TRY(step->drop());
  }
  return run_once(parts, out);
}

Status Engine::run_once(Parts& parts, std::vector<Logits>& out) {
  auto step = open(parts);
  HOLDFAST_TRY(step);
  HOLDFAST_TRY(write(*step, parts, out));
  return finish(*step, parts);
}

Result<Step> Engine::open(Parts& parts) {
  std::vector<StepItem> items;
  if (settings_.padding != 0) {
    items.push_back({.rows = settings_.padding});
  }
  for (Part& part : parts) {
    bool const in_place = settings_.state == StateMode::kInPlace;
    part.mode = part.round                              ? settings_.state
                : in_place && !wants_between(part.outs) ? StateMode::kInPlace
                                                        : StateMode::kFresh;
    items.push_back({.sequence = &part.slot->sequence,
                     .kind = part.round ? StepKind::kVerify : StepKind::kAppend,
                     .rows = static_cast<std::uint32_t>(part.ids.size()),
                     .append_mode = part.mode == StateMode::kInPlace ? AppendMode::kInPlace
                                                                     : AppendMode::kOutOfPlace,
                     .round_kind = part.mode == StateMode::kInPlace  ? RoundKind::kInPlace
                                   : part.mode == StateMode::kRescan ? RoundKind::kRescan
                                                                     : RoundKind::kColumns});
  }
  return cache_.begin(items);
}

Status Engine::write(Step& step, Parts const& parts, std::vector<Logits>& out) {
  bool const between = std::any_of(
      parts.begin(), parts.end(), [](Part const& part) { return wants_between(part.outs); });
  if (settings_.writing == Writing::kWhole && !between) {
    return write_whole(step, parts, out);
  }
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    HOLDFAST_TRY(write_part(step, first_item() + i, parts[i], out));
  }
  return {};
}

/// Writes up to each row after which logits are wanted, and looks.
Status Engine::write_part(Step& step,
                          std::uint32_t item,
                          Part const& part,
                          std::vector<Logits>& out) {
  std::vector<Token> const contents = contents_of(joined(part.slot->ids, part.ids));
  auto const base = static_cast<std::uint32_t>(part.slot->ids.size());
  auto const rows = static_cast<std::uint32_t>(part.ids.size());
  std::span<Token const> const all{contents};
  // Draft rows of an append are written once by calls, and as often as they are wanted through views.
  bool const again = !part.round && shape_.has_draft() && wants_between(part.outs);
  model::WriteStyle style{.view = settings_.writing == Writing::kViews || again,
                          .mode = part.mode,
                          .skip = settings_.lag};
  Sight::Item const seen{step,
                         item,
                         part.slot->sequence.id().index,
                         base,
                         all,
                         settings_.lag,
                         style.view,
                         part.mode,
                         part.round};
  model::StepRows handle{step, item, part.round};
  for (std::uint32_t row = 0, done = 0; row < rows; ++row) {
    if (part.outs[row] == kNoLogits && row + 1 != rows) {
      continue;
    }
    style.again = done != 0;
    HOLDFAST_TRY(toy_.write(
        handle, base, all.subspan(base, row + 1), done, row + 1 - done, style, all.first(base)));
    done = row + 1;
    HOLDFAST_TRY(look(seen, part, row, out));
  }
  return {};
}

Status Engine::write_whole(Step& step, Parts const& parts, std::vector<Logits>& out) {
  std::vector<model::ItemRows> items;
  if (settings_.padding != 0) {
    items.push_back({.is_padding = true,
                     .rows = settings_.padding,
                     .tokens = std::vector<Token>(settings_.padding)});
  }
  std::vector<std::vector<Token>> contents;
  for (Part const& part : parts) {
    contents.push_back(contents_of(joined(part.slot->ids, part.ids)));
    std::span<Token const> const all{contents.back()};
    std::size_t const base = part.slot->ids.size();
    items.push_back({.is_padding = false,
                     .round = part.round,
                     .mode = part.mode,
                     .position = static_cast<std::uint32_t>(base),
                     .rows = static_cast<std::uint32_t>(part.ids.size()),
                     .tokens = {all.begin() + static_cast<std::ptrdiff_t>(base), all.end()},
                     .history = all.first(base)});
  }
  HOLDFAST_TRY(toy_.write_step(step, items, {.skip = settings_.lag, .whole = true}));
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    Part const& part = parts[i];
    Sight::Item const seen{step,
                           first_item() + i,
                           part.slot->sequence.id().index,
                           static_cast<std::uint32_t>(part.slot->ids.size()),
                           contents[i],
                           settings_.lag,
                           false,
                           part.mode,
                           part.round};
    HOLDFAST_TRY(look(seen, part, static_cast<std::uint32_t>(part.ids.size()) - 1, out));
  }
  return {};
}

Status Engine::look(Sight::Item const& item,
                    Part const& part,
                    std::uint32_t row,
                    std::vector<Logits>& out) {
  if (part.outs[row] != kNoLogits) {
    auto const digest = sight_->digest(item, row + 1);
    HOLDFAST_TRY(digest);
    out[part.outs[row]] = logits_of(*digest);
  }
  return {};
}

Status Engine::finish(Step& step, Parts& parts) {
  std::vector<std::uint32_t> keep(first_item());
  std::uint32_t kept = 0;
  for (Part const& part : parts) {
    keep.push_back(part.round ? part.keep : static_cast<std::uint32_t>(part.ids.size()));
    kept += keep.back();
  }
  std::vector<Accepted> accepted(keep.size());
  HOLDFAST_TRY(kept == 0 ? step.drop() : step.finish(keep, accepted));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Accepted const& done = accepted[first_item() + i];
    auto const first = parts[i].ids.begin();
    parts[i].slot->ids = joined(parts[i].slot->ids, {first, first + done.committed});
    HOLDFAST_TRY(append(*parts[i].slot, {first, first + done.rows_to_append}));
  }
  return {};
}

void Engine::cold(std::vector<BatchRow> const& batch, std::vector<Logits>& out) const {
  std::vector<std::uint32_t> ids;
  for (BatchRow const& row : batch) {
    ids.push_back(row.token);
  }
  std::vector<Token> const contents = contents_of(ids);
  std::vector<float> states;
  Meaning::Sums sums;
  for (std::uint32_t row = 0; row < batch.size(); ++row) {
    meaning_.advance(contents[row], states);
    if (batch[row].wanted) {
      Digest const rows = meaning_.rows(contents, row + 1, sums);
      out.push_back(logits_of(rows + meaning_.states(states)));
    }
  }
}

Status Engine::remove(std::uint32_t sequence, std::uint32_t first, std::uint32_t end) {
  Slot& slot = slots_[sequence];
  auto const size = static_cast<std::uint32_t>(slot.ids.size());
  end = std::min(end, size);
  if (first >= end) {
    return {};
  }
  if (first == 0 && end == size) {
    renew(slot);
    return {};
  }
  if (end < size) {
    return Error{.code = ErrorCode::kRefused, .subject = "middle"};
  }
  HOLDFAST_TRY(slot.sequence.truncate(first));
  slot.ids.resize(first);
  return {};
}

Status Engine::copy(std::uint32_t from, std::uint32_t to) {
  if (from == to) {
    return {};
  }
  if (slots_[from].ids.empty()) {
    renew(slots_[to]);
    return {};
  }
  auto snapshot = slots_[from].sequence.snapshot();
  HOLDFAST_TRY(snapshot);
  auto forked = snapshot->fork();
  HOLDFAST_TRY(forked);
  slots_[to].sequence = std::move(*forked);
  slots_[to].ids = slots_[from].ids;
  return {};
}

void Engine::empty_all_but(std::uint32_t spared) {
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    if (i != spared) {
      renew(slots_[i]);
    }
  }
}

/// Publishes a sequence; the oldest entry goes when there is no room.
Result<EntryId> Engine::capture(Slot& slot) {
  auto const snapshot = slot.sequence.snapshot();
  HOLDFAST_TRY(snapshot);
  if (prefixes_.size() + 1 >= kEntries) {
    HOLDFAST_TRY(cache_.erase(prefixes_.front()));
    prefixes_.pop_front();
  }
  auto const entry = cache_.capture(kScope, *snapshot, keys_of(slot.ids));
  HOLDFAST_TRY(entry);
  bool const is_known = std::find(prefixes_.begin(), prefixes_.end(), *entry) != prefixes_.end();
  if (settings_.prefix && !is_known) {
    prefixes_.push_back(*entry);
  }
  return *entry;
}

Result<Saved> Engine::save(std::uint32_t sequence, std::uint32_t entry) {
  Slot& slot = slots_[sequence];
  auto const captured = capture(slot);
  HOLDFAST_TRY(captured);
  auto const promised = cache_.entry_bytes(*captured);
  HOLDFAST_TRY(promised);
  std::vector<std::byte> bytes(promised->total);
  auto const written = cache_.serialize(*captured, bytes);
  if (!settings_.prefix) {
    HOLDFAST_TRY(cache_.erase(*captured));
  }
  HOLDFAST_TRY(written);
  bytes.resize(*written);
  entries_[entry] = {std::move(bytes), slot.ids};
  return Saved{.bytes = *written, .promised = promised->total};
}

Result<Saved> Engine::load(std::uint32_t entry, std::uint32_t sequence) {
  auto const found = entries_.find(entry);
  if (found == entries_.end()) {
    return Error{.code = ErrorCode::kMiss, .subject = "entry"};
  }
  Entry const& known = found->second;
  auto const loaded = cache_.deserialize(kScope, known.bytes);
  HOLDFAST_TRY(loaded);
  // With entries that stay, the last rows are computed again, as for the logits of the last one.
  auto const size = static_cast<std::uint32_t>(known.ids.size());
  std::uint32_t const limit = settings_.prefix ? size - 1 - std::min(size - 1, size % 3) : size;
  auto restored = cache_.restore(kScope, keys_of(known.ids), limit);
  bool const stays = std::find(prefixes_.begin(), prefixes_.end(), *loaded) != prefixes_.end();
  if (!stays) {
    HOLDFAST_TRY(cache_.erase(*loaded));
  }
  Slot fresh;
  if (restored) {
    fresh.sequence = std::move(restored->sequence);
    fresh.ids = known.ids;
    fresh.ids.resize(std::min(restored->length, size));
  } else if (restored.error().code != ErrorCode::kMiss || !settings_.prefix) {
    return restored.error();
  }
  if (settings_.prefix) {
    HOLDFAST_TRY(ensure(fresh));
    HOLDFAST_TRY(append(
        fresh,
        {known.ids.begin() + static_cast<std::ptrdiff_t>(fresh.ids.size()), known.ids.end()}));
  }
  slots_[sequence] = std::move(fresh);
  return Saved{.bytes = known.bytes.size()};
}

std::vector<std::byte>* Engine::bytes(std::uint32_t entry) {
  auto const found = entries_.find(entry);
  return found == entries_.end() ? nullptr : &found->second.bytes;
}

Status Engine::snapshot(std::uint32_t sequence, std::uint32_t snapshot) {
  HOLDFAST_TRY(ensure(slots_[sequence]));
  auto held = slots_[sequence].sequence.snapshot();
  HOLDFAST_TRY(held);
  held_[snapshot] = {std::move(*held), slots_[sequence].ids};
  return {};
}

Status Engine::rollback(std::uint32_t sequence, std::uint32_t snapshot) {
  auto const found = held_.find(snapshot);
  if (found == held_.end()) {
    return Error{.code = ErrorCode::kStale, .subject = "snapshot"};
  }
  HOLDFAST_TRY(ensure(slots_[sequence]));
  HOLDFAST_TRY(slots_[sequence].sequence.rollback(found->second.snapshot));
  slots_[sequence].ids = found->second.ids;
  return {};
}

Status Engine::fork(std::uint32_t snapshot, std::uint32_t sequence) {
  auto const found = held_.find(snapshot);
  if (found == held_.end() || !slots_[sequence].ids.empty()) {
    return Error{.code = ErrorCode::kStale, .subject = "snapshot"};
  }
  auto forked = found->second.snapshot.fork();
  HOLDFAST_TRY(forked);
  slots_[sequence].sequence = std::move(*forked);
  slots_[sequence].ids = found->second.ids;
  return {};
}

void Engine::drop_snapshot(std::uint32_t snapshot) {
  held_.erase(snapshot);
}

std::optional<std::int32_t> Engine::last_position(std::uint32_t sequence) const {
  Sequence const& known = slots_[sequence].sequence;
  auto const position = known.position();
  if (!position) {
    return std::nullopt;
  }
  bool const agree = sight_->agrees(known.id().index, *position);
  if (agree && *position == 0) {
    return std::nullopt;
  }
  return agree ? static_cast<std::int32_t>(*position) - 1 : -1;
}

}  // namespace holdfast::adapters
