// SPDX-License-Identifier: Apache-2.0
// An engine on Holdfast's library, as it stands behind the engine protocol: a few sequences, each with the ids of its tokens, whose
// rows and states the toy engine writes into one cache on the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <holdfast/cache.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "adapters/holdfast/logits.hpp"
#include "adapters/lines.hpp"
#include "models/engine/toy_engine.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::adapters {

inline constexpr std::uint32_t kSlots = 4;
inline constexpr std::uint32_t kTokens = 64;  // of one sequence
inline constexpr std::uint32_t kRound = 8;    // rows of a round

/// How rows are written.
enum class Writing : std::uint8_t { kCalls, kViews, kWhole };

/// The knobs.
struct Settings {
  std::string geometry = "tiny";
  model::StateMode state = model::StateMode::kFresh;
  Writing writing = Writing::kCalls;
  std::uint32_t padding = 0;  // rows before those of a step
  std::uint32_t lag = 0;      // rows that draft planes are left behind
  bool tries = false;         // a step is written, dropped, and done again
  bool prefix = false;        // saved sequences stay as entries that others start from
  bool scarce = false;        // pages and slots run out
  bool wide = false;          // a page has as many rows as the ring, and most of a sequence's rows

  friend bool operator<(Settings const& a, Settings const& b) {  // by what makes the geometry
    return std::tie(a.geometry, a.scarce, a.wide) < std::tie(b.geometry, b.scarce, b.wide);
  }
};

/// The geometry of some settings. Throws InputError.
[[nodiscard]] model::Geometry geometry_of(Settings const& settings);

/// How many bytes were written, and how many were promised.
struct Saved {
  std::uint64_t bytes = 0;
  std::uint64_t promised = 0;
};

/// Every error of the library is an answer; nothing has changed then.
class Engine {
 public:
  /// Throws InputError when the settings do not go together.
  Engine(Settings const& settings, model::Geometry const& geometry);

  Status decode(std::vector<BatchRow> const& batch, std::vector<Logits>& out);
  Status draft(std::vector<BatchRow> const& batch, std::uint32_t keep, std::vector<Logits>& out);
  /// The logits of a history, made without the library.
  void cold(std::vector<BatchRow> const& batch, std::vector<Logits>& out) const;
  Status remove(std::uint32_t sequence, std::uint32_t first, std::uint32_t end);
  Status copy(std::uint32_t from, std::uint32_t to);
  /// Empties all sequences but one; none is spared by kSlots.
  void empty_all_but(std::uint32_t spared);
  Result<Saved> save(std::uint32_t sequence, std::uint32_t entry);
  Result<Saved> load(std::uint32_t entry, std::uint32_t sequence);
  /// The bytes of an entry; nullptr when there is none.
  [[nodiscard]] std::vector<std::byte>* bytes(std::uint32_t entry);
  Status snapshot(std::uint32_t sequence, std::uint32_t snapshot);
  Status rollback(std::uint32_t sequence, std::uint32_t snapshot);
  Status fork(std::uint32_t snapshot, std::uint32_t sequence);
  void drop_snapshot(std::uint32_t snapshot);
  /// The last position of a sequence, -1 when its parts disagree; nothing when it is empty.
  [[nodiscard]] std::optional<std::int32_t> last_position(std::uint32_t sequence) const;

 private:
  struct Slot {
    Sequence sequence;  // stale while there is no room for one
    std::vector<std::uint32_t> ids;
  };
  struct Held {
    Snapshot snapshot;
    std::vector<std::uint32_t> ids;
  };
  struct Entry {
    std::vector<std::byte> bytes;
    std::vector<std::uint32_t> ids;
  };
  /// Rows of one sequence in a step.
  struct Part {
    Slot* slot = nullptr;
    std::vector<std::uint32_t> ids;
    std::vector<std::uint32_t> outs;  // by row: which of the logits are wanted after it; kNoLogits
    bool round = false;
    std::uint32_t keep = 0;  // rows of a round
    model::StateMode mode = model::StateMode::kFresh;
  };
  using Parts = std::vector<Part>;

  /// Opens, writes and ends a step of these parts; `out` has room for what is wanted.
  Status run(Parts& parts, std::vector<Logits>& out);
  Status run_once(Parts& parts, std::vector<Logits>& out);
  Result<Step> open(Parts& parts);
  Status finish(Step& step, Parts& parts);
  Status write(Step& step, Parts const& parts, std::vector<Logits>& out);
  Status write_part(Step& step, std::uint32_t item, Part const& part, std::vector<Logits>& out);
  Status write_whole(Step& step, Parts const& parts, std::vector<Logits>& out);
  Status look(Sight::Item const& item,
              Part const& part,
              std::uint32_t row,
              std::vector<Logits>& out);
  [[nodiscard]] Parts parts_of(std::vector<BatchRow> const& batch, bool merged);
  void start_from_prefix(Part& part);
  Result<EntryId> capture(Slot& slot);
  Status append(Slot& slot, std::vector<std::uint32_t> const& ids);
  /// Empties a sequence.
  void renew(Slot& slot);
  /// Gives a sequence to a slot that got none.
  Status ensure(Slot& slot);
  [[nodiscard]] std::uint32_t first_item() const noexcept { return settings_.padding == 0 ? 0 : 1; }

  Settings settings_;
  model::ModelShape shape_;
  Meaning meaning_;
  std::unique_ptr<Device> host_;
  std::vector<Device*> devices_;  // one for each rank of each stage: the host
  model::ToyEngine toy_;
  Cache cache_;
  std::optional<Sight> sight_;
  std::array<Slot, kSlots> slots_;
  std::map<std::uint32_t, Held> held_;
  std::map<std::uint32_t, Entry> entries_;
  std::deque<EntryId> prefixes_;  // oldest first
};

}  // namespace holdfast::adapters
