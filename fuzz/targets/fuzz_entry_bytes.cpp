// SPDX-License-Identifier: Apache-2.0
// Bytes that nobody vouches for, loaded as prefix entries. What is refused has changed nothing; what
// is taken is written out again as the same bytes, is found, and leaves nothing when it is erased.
//
//   geometry (its place in the list of small ones), scope in three bits and situation in two, bytes
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/contract.hpp"
#include "fuzz/targets/target.hpp"
#include "models/engine/holdfast_system.hpp"
#include "models/geometry/geometry.hpp"
#include "models/trace.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::Source;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kLeadBytes = 2;

// Where the byte form (docs/BYTE_FORM.md) has its fields.
constexpr std::size_t kTotalAt = 16;
constexpr std::size_t kTokensAt = 36;
constexpr std::size_t kPlanesAt = 64;
constexpr std::size_t kPlaneBytes = 20;
constexpr std::size_t kChecksumBytes = 8;

/// What the cache has when the bytes come.
enum class Situation : std::uint8_t { kEmpty, kTwice, kEntriesFull, kPagesFull };
constexpr std::uint32_t kSituationCount = 4;

PrefixScope scope_of(std::uint32_t scope) {
  return {.model = scope & 1U, .adapter = scope >> 1U & 1U, .tenant = scope >> 2U};
}

/// A cache of one geometry that lives as long as the process, empty between inputs.
class Bench {
 public:
  explicit Bench(model::Geometry const& geometry)
      : model_{model::make_model_shape(geometry.layout)},
        device_{make_host_device()},
        devices_(std::size_t{geometry.layout.ranks} * geometry.layout.stages, device_.get()),
        engine_{model_.shape(), *device_, devices_},
        system_{geometry.layout, devices_, engine_} {
    system_.read_prompts_of(model_);
  }

  /// The byte form of an entry of so many tokens, made here.
  Bytes form(std::uint32_t tokens, std::uint32_t scope) {
    run(
        fmt::format("create sequence=s0\n"
                    "append sequence=s0 rows={} token=1 piece=0 view=0\n"
                    "snapshot sequence=s0 snapshot=h0\n"
                    "capture snapshot=h0 entry=e0 scope={} extra=0\n",
                    std::min(tokens, model_.shape().capacity.tokens),
                    scope));
    Bytes bytes = written(system_.id(model::EntryName{0}));
    clear();
    return bytes;
  }

  void load(PrefixScope const& scope, Situation situation, Input input) {
    prepare(situation);
    std::vector<std::uint32_t> const before = free_counts();
    // As long as its allocation, so that one byte too far is seen.
    auto const copy = std::make_unique<std::byte[]>(input.size());
    std::memcpy(copy.get(), input.data(), input.size());
    std::span<std::byte const> const bytes{copy.get(), input.size()};
    auto const loaded = system_.cache().deserialize(scope, bytes);
    if (!loaded) {
      check_refusal(loaded.error());
      expect(free_counts() == before, "what was refused took storage");
    } else if (is_one_of_ours(*loaded)) {
      expect(free_counts() == before, "a key that was known took storage");
    } else {
      check_loaded(scope, *loaded, bytes, situation);
      expect(free_counts() == before, "an entry left something when it was erased");
    }
    clear();
  }

  [[nodiscard]] model::ModelShape const& shape() const { return model_.shape(); }

 private:
  static void expect(bool holds, char const* what) {
    if (!holds) {
      report_finding(std::string{"entry bytes: "} + what + "\n");
    }
  }

  static void check_refusal(Error const& error) {
    constexpr std::array<ErrorCode, 5> kKnown = {ErrorCode::kDamaged,
                                                 ErrorCode::kInvalidArgument,
                                                 ErrorCode::kUnsupported,
                                                 ErrorCode::kTooLong,
                                                 ErrorCode::kExhausted};
    if (std::find(kKnown.begin(), kKnown.end(), error.code) == kKnown.end()) {
      report_finding("entry bytes: refused with " + describe(error) + "\n");
    }
  }

  void check_loaded(PrefixScope const& scope,
                    EntryId entry,
                    std::span<std::byte const> bytes,
                    Situation situation) {
    Cache& cache = system_.cache();
    Bytes const again = written(entry);
    expect(
        again.size() == bytes.size() && std::memcmp(again.data(), bytes.data(), again.size()) == 0,
        "an entry that was loaded is written as other bytes");
    std::uint32_t planes = 0;
    std::uint32_t count = 0;
    std::memcpy(&planes, bytes.data() + 12, sizeof planes);
    std::memcpy(&count, bytes.data() + kTokensAt, sizeof count);
    std::vector<TokenKey> tokens(count);
    std::memcpy(tokens.data(),
                bytes.data() + kPlanesAt + planes * kPlaneBytes,
                tokens.size() * sizeof tokens[0]);
    expect(cache.inspect().snapshot(entry.index).position == count,
           "an entry has another number of tokens than its bytes say");
    if (situation == Situation::kTwice) {
      auto const twice = cache.deserialize(scope, bytes);
      expect(twice && *twice == entry, "the same bytes twice are two entries");
    }
    if (auto const match = cache.match(scope, tokens, count)) {
      expect(match->length == count && match->entry == entry,
             "an entry is not found by its tokens");
    }
    if (situation == Situation::kEmpty || situation == Situation::kTwice) {
      auto const restored = cache.restore(scope, tokens, count);
      expect(restored && restored->length == count, "an entry that was loaded cannot be restored");
    }
    expect(cache.erase(entry).has_value(), "an entry that was loaded cannot be erased");
  }

  /// Whether the key was there before, so that its entry was given and the bytes were not needed.
  [[nodiscard]] bool is_one_of_ours(EntryId entry) const {
    auto const live = model_.live_entries();
    return std::any_of(live.begin(), live.end(), [&](std::uint32_t name) {
      return system_.id(model::EntryName{name}) == entry;
    });
  }

  Bytes written(EntryId entry) {
    auto const size = system_.cache().entry_bytes(entry);
    expect(size.has_value(), "an entry has no size");
    Bytes bytes(size->total);
    auto const wrote = system_.cache().serialize(entry, std::as_writable_bytes(std::span{bytes}));
    expect(wrote && *wrote == bytes.size(), "an entry has another size than was said");
    return bytes;
  }

  void prepare(Situation situation) {
    if (situation == Situation::kEntriesFull) {
      run("create sequence=s0\n");
      for (std::uint32_t i = 0; i < shape().capacity.entries && i < shape().capacity.tokens; ++i) {
        run(
            fmt::format("append sequence=s0 rows=1 token={} piece=0 view=0\n"
                        "snapshot sequence=s0 snapshot=h{}\n"
                        "capture snapshot=h{} entry=e{} scope=0 extra=0\n"
                        "drop_snapshot snapshot=h{}\n",
                        1 + i,
                        i,
                        i,
                        i,
                        i));
      }
    } else if (situation == Situation::kPagesFull) {
      for (std::uint32_t i = 0; i < shape().capacity.sequences; ++i) {
        run(fmt::format("create sequence=s{}\n", i));
        for (std::uint32_t rows = shape().capacity.tokens; rows != 0; rows /= 2) {
          run(fmt::format("append sequence=s{} rows={} token={} piece=0 view=0\n",
                          i,
                          rows,
                          1 + i * shape().capacity.tokens));
        }
      }
    }
  }

  void clear() {
    while (!model_.live_sequences().empty()) {
      run(fmt::format("release sequence=s{}\n", model_.live_sequences().front()));
    }
    while (!model_.live_snapshots().empty()) {
      run(fmt::format("drop_snapshot snapshot=h{}\n", model_.live_snapshots().front()));
    }
    while (!model_.live_entries().empty()) {
      run(fmt::format("erase entry=e{}\n", model_.live_entries().front()));
    }
    model_.reset();
  }

  /// Operations, a line each.
  void run(std::string const& lines) {
    for (AnyOp const& op : model::parse_ops(lines, "entry bytes")) {
      std::visit([&](auto const& known) { run_known(known); }, op);
    }
  }

  template <typename Op>
  void run_known(Op const& op) {
    if (op.precondition(model_)) {
      model::Observation const got = op.run(system_);
      model::Observation const want = op.apply(model_, got);
      expect(got == want, "the model answers otherwise");
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> free_counts() const {
    Inspection const inspection = system_.inspect();
    std::vector<std::uint32_t> counts;
    for (std::uint32_t plane = 0; plane < inspection.plane_count(); ++plane) {
      counts.push_back(inspection.pages_free(plane));
      counts.push_back(inspection.chunks_free(plane));
    }
    for (std::uint32_t i = inspection.first_entry(); i < inspection.snapshot_limit(); ++i) {
      counts.push_back(inspection.snapshot(i).live ? 1 : 0);
    }
    return counts;
  }

  model::Model model_;
  std::unique_ptr<Device> device_;
  std::vector<Device*> devices_;
  model::ToyEngine engine_;
  model::HoldfastSystem system_;
};

std::vector<std::unique_ptr<Bench>>& benches() {
  static auto& known = *new std::vector<std::unique_ptr<Bench>>{[] {
    std::vector<std::unique_ptr<Bench>> made;
    for (std::string const& name : model::default_geometry_names()) {
      made.push_back(std::make_unique<Bench>(model::load_geometry(name)));
    }
    return made;
  }()};
  return known;
}

Bench& bench_of(std::uint32_t place) {
  return *benches()[place % benches().size()];
}

/// An input of a form that is good.
Bytes good_input(std::uint32_t place, std::uint32_t tokens, std::uint32_t scope, Situation at) {
  Bytes input = {static_cast<std::uint8_t>(place % benches().size()),
                 static_cast<std::uint8_t>(scope | static_cast<std::uint32_t>(at) << 3U)};
  Bytes const form = bench_of(place).form(tokens, scope);
  input.insert(input.end(), form.begin(), form.end());
  return input;
}

template <typename T>
T get(Bytes const& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <typename T>
void put(Bytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Says the right length and checksum, so that the checks behind them are reached.
void seal(Bytes& form) {
  if (form.size() < kPlanesAt + kChecksumBytes) {
    return;
  }
  put<std::uint64_t>(form, kTotalAt, form.size());
  std::size_t const covered = form.size() - kChecksumBytes;
  put<std::uint64_t>(form, covered, XXH3_64bits(form.data(), covered));
}

/// Changes one number of the header, or what follows it.
void change_form(Bytes& form, Source& source) {
  auto const size = static_cast<std::uint32_t>(form.size());
  if (size < kPlanesAt + kChecksumBytes) {
    form.resize(form.size() + source.below(64), 0);
    return;
  }
  std::uint32_t const planes = std::min(get<std::uint32_t>(form, 12), 16U);
  auto const head = static_cast<std::uint32_t>(kPlanesAt + planes * kPlaneBytes);
  switch (source.below(6)) {
    case 0: {  // four bytes of the header, where they may lie
      std::uint32_t const at = 4 * source.below(std::min(head, size - 4) / 4);
      auto const value = get<std::uint32_t>(form, at);
      std::array<std::uint32_t, 6> const values = {
          value + 1, value - 1, 0, UINT32_MAX, value * 2, value ^ (1U << source.below(32))};
      put(form, at, values[source.below(values.size())]);
      break;
    }
    case 1:  // longer or shorter at the end
      form.resize(source.one_in(2) ? size - source.between(1, std::min(size, 64U))
                                   : size + source.between(1, 64));
      break;
    case 2: {  // a token more or less, with its bytes
      auto const tokens = get<std::uint32_t>(form, kTokensAt);
      if (source.one_in(2)) {
        put(form, kTokensAt, tokens + 1);
        form.insert(form.begin() + std::min(head, size), sizeof(TokenKey), 7);
      } else if (tokens != 0 && head + sizeof(TokenKey) < size) {
        put(form, kTokensAt, tokens - 1);
        form.erase(form.begin() + head, form.begin() + head + sizeof(TokenKey));
      }
      break;
    }
    case 3: {  // a piece twice, or gone
      std::uint32_t const at = source.below(size);
      std::uint32_t const count = source.between(1, std::min(size - at, 64U));
      Bytes const piece(form.begin() + at, form.begin() + at + count);
      if (source.one_in(2)) {
        form.insert(form.begin() + at, piece.begin(), piece.end());
      } else {
        form.erase(form.begin() + at, form.begin() + at + count);
      }
      break;
    }
    default:
      form[source.below(size)] ^= static_cast<std::uint8_t>(1U << source.below(8));
  }
}

}  // namespace

void make_seeds(std::uint32_t count, std::function<void(Input input)> const& keep) {
  Source source{20240815};
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t const most = bench_of(i).shape().capacity.tokens;
    keep(good_input(i,
                    source.between(1, source.one_in(4) ? most : std::min(most, 12U)),
                    source.below(model::kScopeCount),
                    static_cast<Situation>(source.below(kSituationCount))));
  }
}

}  // namespace holdfast::fuzz

extern "C" {

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace holdfast::fuzz;  // NOLINT(google-build-using-namespace): outside any namespace
  if (size < kLeadBytes) {
    return 0;
  }
  std::string const broken = run_with_contract([&] {
    bench_of(data[0]).load(scope_of(data[1] & 7U),
                           static_cast<Situation>(data[1] >> 3U & 3U),
                           {data + kLeadBytes, size - kLeadBytes});
  });
  if (!broken.empty()) {
    report_finding("entry bytes: " + broken + "\n");
  }
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                    std::size_t size,
                                    std::size_t max_size,
                                    unsigned seed) {
  using namespace holdfast::fuzz;  // NOLINT(google-build-using-namespace): outside any namespace
  Source source{seed};
  Bytes input(data, data + size);
  if (size < kLeadBytes + kPlanesAt || source.one_in(32)) {
    input = good_input(source.below(256),
                       source.between(1, 24),
                       source.below(holdfast::model::kScopeCount),
                       static_cast<Situation>(source.below(kSituationCount)));
  } else if (source.one_in(16)) {
    input[source.below(kLeadBytes)] = static_cast<std::uint8_t>(source.below(256));
  }
  Bytes form(input.begin() + kLeadBytes, input.end());
  input.resize(kLeadBytes);
#ifdef HOLDFAST_LIBFUZZER
  if (source.one_in(4) && !form.empty()) {
    std::size_t const used = form.size();
    form.resize(used + 64);
    form.resize(LLVMFuzzerMutate(form.data(), used, form.size()));
  }
#endif
  for (std::uint32_t changes = source.below(3); changes != 0; --changes) {
    change_form(form, source);
  }
  if (!source.one_in(8)) {
    seal(form);
  }
  input.insert(input.end(), form.begin(), form.end());
  std::size_t const kept = std::min(max_size, input.size());
  std::memcpy(data, input.data(), kept);
  return kept;
}
}
