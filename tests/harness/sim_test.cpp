// SPDX-License-Identifier: Apache-2.0
// Goal: simulated devices run work late, in any order that streams and events allow, and no access
// without order escapes the check, whatever the order was. Method: two streams that write a word
// each way, over many seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <holdfast/device.hpp>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "models/sim/sim_device.hpp"
#include "models/sim/witness.hpp"

namespace holdfast::model {
namespace {

constexpr Stream kFirst{1};
constexpr Stream kSecond{2};
constexpr std::uint64_t kSeeds = 50;

struct Store {
  std::uint32_t* place;
  std::uint32_t value;
};

void declare_store(void const* raw, AccessSink& sink) noexcept {
  sink.write(static_cast<Store const*>(raw)->place, sizeof(std::uint32_t));
}
void store(void const* raw) noexcept {
  auto const& parameters = *static_cast<Store const*>(raw);
  *parameters.place = parameters.value;
}
Kernel const kStore{"test.store", sizeof(Store), &declare_store, &store};

struct Load {
  std::uint32_t const* place;
  std::uint32_t* to;  // host memory
};

void declare_load(void const* raw, AccessSink& sink) noexcept {
  sink.read(static_cast<Load const*>(raw)->place, sizeof(std::uint32_t));
}
void load(void const* raw) noexcept {
  auto const& parameters = *static_cast<Load const*>(raw);
  *parameters.to = *parameters.place;
}
Kernel const kLoad{"test.load", sizeof(Load), &declare_load, &load};

/// Counts the work that ran, and may say how much that was.
struct Tally {
  std::uint32_t* count;
  std::uint32_t* said;
};

void declare_tally(void const* /*raw*/, AccessSink& /*sink*/) noexcept {}
void tally(void const* raw) noexcept {
  auto const& parameters = *static_cast<Tally const*>(raw);
  if (parameters.said != nullptr) {
    *parameters.said = *parameters.count;
  } else {
    ++*parameters.count;
  }
}
Kernel const kTally{"test.tally", sizeof(Tally), &declare_tally, &tally};

/// More parameters than most kernels have.
struct Sum {
  std::uint32_t* place;
  std::array<std::uint32_t, kParameterLimit> values;
};

void declare_sum(void const* raw, AccessSink& sink) noexcept {
  sink.write(static_cast<Sum const*>(raw)->place, sizeof(std::uint32_t));
}
void sum(void const* raw) noexcept {
  auto const& parameters = *static_cast<Sum const*>(raw);
  *parameters.place =
      std::accumulate(parameters.values.begin(), parameters.values.end(), std::uint32_t{0});
}
Kernel const kSum{"test.sum", sizeof(Sum), &declare_sum, &sum};

class Sim : public testing::Test {
 protected:
  void start(std::uint64_t seed) {
    world_.start(seed);
    auto memory = device_.allocate(kBytes, MemoryKind::kDevice);
    ASSERT_TRUE(memory);
    words_ = reinterpret_cast<std::uint32_t*>(memory->base);
    std::fill_n(words_, kBytes / sizeof(std::uint32_t), 0U);
    memory_ = *memory;
  }
  void end() { device_.free(memory_); }
  void put(Stream stream, std::uint32_t word, std::uint32_t value) {
    Store const parameters{words_ + word, value};
    ASSERT_TRUE(device_.launch(kStore, &parameters, stream));
  }
  void get(Stream stream, std::uint32_t word, std::uint32_t& to) {
    Load const parameters{words_ + word, &to};
    ASSERT_TRUE(device_.launch(kLoad, &parameters, stream));
  }
  void order(Stream first, Stream second) {
    auto const event = device_.record(first);
    ASSERT_TRUE(event);
    ASSERT_TRUE(device_.wait(second, *event));
  }

  void look(Stream stream, std::uint32_t word) {
    ByteRange const range{memory_.base + word * sizeof(std::uint32_t), sizeof(std::uint32_t)};
    device_.look({&range, 1}, stream);
  }

  static constexpr std::uint64_t kBytes = 256;
  SimWorld world_;
  std::unique_ptr<Device> host_ = make_host_device();
  SimDevice device_{world_, *host_, 0};
  Memory memory_{};
  std::uint32_t* words_ = nullptr;
};

TEST_F(Sim, OneStreamKeepsItsOrderAndRunsLate) {
  bool was_late = false;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    for (std::uint32_t value = 1; value <= 8; ++value) {
      put(kFirst, 0, value);
      was_late = was_late || words_[0] != value;
      EXPECT_LE(words_[0], value);
    }
    ASSERT_TRUE(device_.synchronize(kFirst));
    EXPECT_EQ(words_[0], 8U);
    EXPECT_FALSE(world_.order().conflict());
    end();
  }
  EXPECT_TRUE(was_late);
}

TEST_F(Sim, KeepsParametersOfAnyLength) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    Sum parameters{words_, {}};
    parameters.values.fill(3);
    ASSERT_TRUE(device_.launch(kSum, &parameters, kFirst));
    parameters.values.fill(0);
    put(kFirst, 1, 7);
    ASSERT_TRUE(device_.synchronize(kFirst));
    EXPECT_EQ(words_[0], 3 * kParameterLimit);
    EXPECT_EQ(words_[1], 7U);
    end();
  }
}

TEST_F(Sim, TwoStreamsRunInEitherOrderAndConflictInBoth) {
  std::set<std::uint32_t> last;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    put(kFirst, 0, 1);
    put(kSecond, 0, 2);
    world_.settle();
    last.insert(words_[0]);
    auto const& conflict = world_.order().conflict();
    ASSERT_TRUE(conflict) << "seed " << seed;
    EXPECT_TRUE(conflict->first_writes && conflict->second_writes);
    EXPECT_NE(describe(world_, *conflict).find("test.store of operation 0 on device 0 stream 1"),
              std::string::npos);
    end();
  }
  EXPECT_EQ(last, (std::set<std::uint32_t>{1, 2}));
}

TEST_F(Sim, AnEventOrdersThem) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    std::uint32_t seen = 0;
    put(kFirst, 0, 1);
    order(kFirst, kSecond);
    get(kSecond, 0, seen);
    order(kSecond, kFirst);
    put(kFirst, 0, 2);
    world_.settle();
    EXPECT_EQ(seen, 1U);
    EXPECT_FALSE(world_.order().conflict()) << "seed " << seed;
    end();
  }
}

TEST_F(Sim, ReadersConflictWithALaterWriter) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    std::uint32_t seen = 0;
    put(kFirst, 0, 1);
    order(kFirst, kSecond);
    get(kSecond, 0, seen);
    put(kFirst, 0, 2);  // nothing says that the reader is done
    world_.settle();
    ASSERT_TRUE(world_.order().conflict()) << "seed " << seed;
    end();
  }
}

TEST_F(Sim, TheHostSeesWhatItWaitedForAndNothingElse) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    std::uint32_t read = 0;
    auto const* const place = reinterpret_cast<std::byte const*>(words_);
    put(kFirst, 0, 1);
    ASSERT_TRUE(device_.host_read(&read, place, sizeof read, kFirst));
    EXPECT_EQ(read, 1U);
    put(kSecond, 0, 2);  // the host read before it enqueued this, and stream 1 was waited for
    EXPECT_FALSE(world_.order().conflict());
    ASSERT_TRUE(device_.host_read(&read, place, sizeof read, kFirst));  // of the wrong stream
    world_.settle();
    EXPECT_TRUE(world_.order().conflict()) << "seed " << seed;
    end();
  }
}

TEST_F(Sim, CopiesAreTornAndStillWhole) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    for (std::uint32_t word = 0; word < 16; ++word) {
      put(kFirst, word, word + 1);
    }
    CopySegment const segment{
        .destination = memory_.base + 64, .source = memory_.base, .bytes = 64};
    ASSERT_TRUE(device_.copy({&segment, 1}, kFirst));
    ASSERT_TRUE(device_.synchronize(kFirst));
    for (std::uint32_t word = 0; word < 16; ++word) {
      EXPECT_EQ(words_[16 + word], word + 1);
    }
    EXPECT_FALSE(world_.order().conflict());
    end();
  }
}

TEST_F(Sim, EventsAreDoneWhenTheirWorkIs) {
  bool was_pending = false;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    put(kFirst, 0, 7);
    auto const event = device_.record(kFirst);
    ASSERT_TRUE(event);
    auto const done = device_.is_done(*event);
    ASSERT_TRUE(done);
    was_pending = was_pending || !*done;
    EXPECT_TRUE(!*done || words_[0] == 7U);
    ASSERT_TRUE(device_.await(*event));
    EXPECT_EQ(words_[0], 7U);
    EXPECT_TRUE(*device_.is_done(*event));
    end();
  }
  EXPECT_TRUE(was_pending);
}

TEST_F(Sim, AWitnessNamesTheAccessesAndTheEdgeThatIsMissing) {
  OrderLog log;
  world_.set_log(&log);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    world_.set_operation(3);
    put(kFirst, 0, 1);
    order(kFirst, kSecond);
    world_.set_operation(4);
    put(kSecond, 1, 1);
    put(kFirst, 2, 1);
    world_.set_operation(5);
    put(kFirst, 3, 1);
    order(kFirst, Stream{7});
    put(Stream{7}, 4, 1);
    world_.set_operation(6);
    put(kSecond, 3, 2);
    world_.settle();
    ASSERT_TRUE(world_.order().conflict()) << "seed " << seed;
    EXPECT_EQ(log.witness(world_, *world_.order().conflict()),
              "  first    test.store of operation 5 on device 0 stream 1 writes\n"
              "  second   test.store of operation 6 on device 0 stream 2 writes the same bytes\n"
              "  out      device 0 stream 1, after test.store of operation 5 -> "
              "device 0 stream 7, before test.store of operation 5\n"
              "  in       device 0 stream 1, after test.store of operation 3 -> "
              "device 0 stream 2, before test.store of operation 4\n"
              "  known    device 0 stream 1 up to test.store of operation 3, "
              "2 before the first access\n"
              "  missing  device 0 stream 1, after test.store of operation 5 -> "
              "device 0 stream 2, before test.store of operation 6\n");
    end();
  }
}

TEST_F(Sim, AWitnessKnowsWhatTheHostSaw) {
  OrderLog log;
  world_.set_log(&log);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    put(kFirst, 0, 1);
    ASSERT_TRUE(device_.synchronize(kFirst));
    put(kSecond, 1, 1);
    put(kFirst, 0, 2);  // after what the host waited for
    std::uint32_t read = 0;
    world_.set_operation(1);
    ASSERT_TRUE(device_.host_read(
        &read, reinterpret_cast<std::byte const*>(words_ + 1), sizeof read, kFirst));
    world_.settle();
    ASSERT_TRUE(world_.order().conflict()) << "seed " << seed;
    std::string const text = log.witness(world_, *world_.order().conflict());
    EXPECT_NE(text.find("  in       device 0 stream 1, after test.store of operation 0 -> "
                        "the host, at a wait of operation 1\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("  known    nothing of device 0 stream 2\n"), std::string::npos) << text;
    EXPECT_NE(text.find("  missing  device 0 stream 2, after test.store of operation 0 -> "
                        "the host, before host read of operation 1\n"),
              std::string::npos)
        << text;
    end();
  }
}

TEST_F(Sim, DevicesAreFarFromEachOtherInSpeed) {
  constexpr std::uint32_t kMany = 200;
  SimDevice other{world_, *host_, 1};
  std::uint32_t most = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    std::uint32_t count = 0;
    std::uint32_t said = 0;
    for (std::uint32_t i = 0; i < kMany; ++i) {
      Tally const counts{&count, nullptr};
      Tally const says{&count, &said};
      ASSERT_TRUE(other.launch(kTally, &counts, kFirst));
      ASSERT_TRUE(i >= 4 || device_.launch(kTally, &says, kFirst));
    }
    world_.settle();
    EXPECT_EQ(count, kMany);
    most = std::max(most, said);
    end();
  }
  // By the speeds of their streams alone eight to one, that is about 32.
  EXPECT_GT(most, 150U);
}

TEST_F(Sim, WaitsInACircleAreADeadlock) {
  start(1);
  ASSERT_TRUE(device_.wait(kFirst, Event{kSecond, 0}));
  ASSERT_TRUE(device_.wait(kSecond, Event{kFirst, 0}));
  order(kFirst, Stream{3});
  order(kSecond, Stream{3});
  EXPECT_EQ(world_.deadlock(), "");
  ASSERT_TRUE(device_.synchronize(Stream{3}));
  EXPECT_EQ(world_.deadlock(),
            "the host waits for device 0 stream 3, which waits for event 0 of device 0 stream 1, "
            "which waits for event 0 of device 0 stream 2, which waits for event 0 of device 0 "
            "stream 1: a cycle");
  end();
  start(1);
  ASSERT_TRUE(device_.wait(kFirst, Event{kSecond, 0}));
  ASSERT_TRUE(device_.synchronize(kFirst));
  EXPECT_EQ(world_.deadlock(),
            "the host waits for device 0 stream 1, which waits for event 0 of device 0 stream 2, "
            "which is never recorded");
  end();
}

TEST_F(Sim, ALookMustBeOrderedThoughNobodyReads) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    put(kFirst, 0, 1);
    put(kSecond, 1, 1);
    world_.set_operation(4);
    look(kSecond, 0);
    world_.settle();
    ASSERT_TRUE(world_.order().conflict()) << "seed " << seed;
    EXPECT_NE(describe(world_, *world_.order().conflict())
                  .find("the new owner's look of operation 4 on device 0 stream 2, which reads"),
              std::string::npos);
    end();
    start(seed);
    put(kFirst, 0, 1);
    order(kFirst, kSecond);
    look(kSecond, 0);
    put(kSecond, 0, 2);
    order(kSecond, kFirst);
    put(kFirst, 0, 3);
    world_.settle();
    EXPECT_FALSE(world_.order().conflict()) << "seed " << seed;
    end();
  }
}

TEST_F(Sim, WhoWritesWhereAnotherLookedComesAfterIt) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    start(seed);
    put(kFirst, 0, 1);
    order(kFirst, kSecond);
    look(kSecond, 0);
    put(kFirst, 0, 2);  // it may be read there still
    world_.settle();
    ASSERT_TRUE(world_.order().conflict()) << "seed " << seed;
    end();
  }
}

TEST_F(Sim, LooksChangeNoOrder) {
  auto const run = [&](std::uint64_t seed, bool looks) {
    std::vector<std::uint32_t> seen;
    start(seed);
    put(kFirst, 0, 0);
    put(kSecond, 0, 0);
    for (std::uint32_t i = 0; i < 20; ++i) {
      put(i % 2 == 0 ? kFirst : kSecond, 0, i);
      seen.push_back(words_[0]);
      for (std::uint32_t word = 0; looks && word < i % 3; ++word) {
        look(i % 2 == 0 ? kSecond : kFirst, word);
      }
    }
    world_.settle();
    seen.push_back(words_[0]);
    end();
    return seen;
  };
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_EQ(run(seed, false), run(seed, true)) << "seed " << seed;
  }
}

TEST_F(Sim, OneSeedIsOneOrder) {
  auto const run = [&](std::uint64_t seed) {
    std::vector<std::uint32_t> seen;
    start(seed);
    for (std::uint32_t i = 0; i < 20; ++i) {
      put(i % 2 == 0 ? kFirst : kSecond, 0, i);
      seen.push_back(words_[0]);
    }
    world_.settle();
    seen.push_back(words_[0]);
    end();
    return seen;
  };
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    auto const once = run(seed);
    EXPECT_EQ(once, run(seed));
    orders.insert(once);
  }
  EXPECT_GT(orders.size(), kSeeds / 2);
}

}  // namespace
}  // namespace holdfast::model
