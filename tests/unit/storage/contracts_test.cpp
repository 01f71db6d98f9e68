// SPDX-License-Identifier: Apache-2.0
// Goal: each assertion of the storage that is always on stops what it is there for, and every audit says no
// to what is wrong. Method: a table of misuses by hand, each with the condition that must be named.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <holdfast/device.hpp>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/contract.hpp"
#include "storage/paged_table.hpp"
#include "storage/plan.hpp"
#include "storage/steps.hpp"
#include "tests/support/layouts.hpp"
#include "tests/support/status.hpp"
#include "tests/unit/one_rank.hpp"

namespace holdfast::test {
namespace {

using internal::base::Tally;
using internal::storage::ChunkArena;
using internal::storage::Owner;
using internal::storage::PageArena;
using internal::storage::PagedTable;
using internal::storage::Plan;
using internal::storage::Steps;
using internal::storage::StepWork;

constexpr Owner kAnna{.index = 1, .mark = (std::uint64_t{1} << 32U) | 1U};
constexpr internal::storage::StepLimits kLimits{
    .planes = 1, .copies = 2, .patches = 64, .columns = 1, .mirrors = 1, .runs = 1};

/// Storage of every kind: three pages and chunks by hand, and the table of one small plane, whose pages have
/// 2 rows and whose chunks have 2 pages.
struct Bench {
  Bench() {
    EXPECT_TRUE(pages.create(nullptr, 16, 4));
    EXPECT_TRUE(chunks.create(3, 2));
    EXPECT_TRUE(IsOk(make_plan(small_layout({{{LatentSpec{.width = 1}}}}), plan)));
    auto const& known = plan.classes[0];
    memory.resize(known.pages * known.page_bytes / sizeof(float));
    device_table.resize(plan.sequence_limit * known.entries);
    auto* const base = reinterpret_cast<std::byte*>(memory.data());
    EXPECT_TRUE(table.create(plan, 0, base, device_table.data()));
    attach_one_rank(step, kLimits, *device, block, device_table.data());
    step.set_strips(0,
                    0,
                    {.base = base,
                     .page_bytes = known.page_bytes,
                     .runs = internal::storage::runs_of(known.strips, known.layer_count)});
    EXPECT_TRUE(step.begin());
    table.extend(kAnna, 3, step);
  }

  PageArena pages;
  ChunkArena chunks;
  Plan plan;
  std::vector<float> memory;
  std::vector<std::uint32_t> device_table;
  std::vector<std::max_align_t> block;
  std::unique_ptr<Device> device = make_host_device();
  PagedTable table;
  StepWork step;
};

struct Misuse {
  char const* name;
  char const* condition;  // that the verdict names
  void (*run)(Bench& bench);
};

void release_twice(Bench& bench) {
  std::uint32_t const page = bench.pages.take(kAnna.mark);
  bench.pages.release(page);
  bench.pages.release(page);
}
void exhaust_pages(Bench& bench) {
  for (std::uint32_t i = 0; i < 4; ++i) {
    static_cast<void>(bench.pages.take(kAnna.mark));
  }
}
void write_shared_page(Bench& bench) {
  std::uint32_t const page = bench.pages.take(kAnna.mark);
  bench.pages.retain(page);
  bench.pages.set_writer(page, kAnna.mark);
}
void lap_of_page_alone(Bench& bench) {
  bench.pages.set_shared_lap(bench.pages.take(kAnna.mark), 1);
}
void mark_nobody(Bench& bench) {
  bench.pages.set_writer(bench.pages.take(kAnna.mark), 0);
}
void overfill_chunk(Bench& bench) {
  std::uint32_t const chunk = bench.chunks.take();
  for (std::uint32_t page = 1; page < 4; ++page) {
    bench.chunks.push(chunk, page);
  }
}
void copy_onto_itself(Bench& bench) {
  bench.step.copy_rows({.plane = 0, .destination = 1, .source = 1, .first_row = 0, .rows = 1});
}
void copy_of_reserved(Bench& bench) {
  bench.step.copy_rows({.plane = 0, .destination = 1, .source = 0, .first_row = 0, .rows = 1});
}
void copy_too_much(Bench& bench) {
  for (std::uint32_t source = 2; source < 5; ++source) {
    bench.step.copy_rows(
        {.plane = 0, .destination = 1, .source = source, .first_row = 0, .rows = 1});
  }
}
void hold_more_than_there_is(Bench& bench) {
  bench.table.hold(kAnna.index, 1, 5);
}
void hold_twice(Bench& bench) {
  bench.table.hold(kAnna.index, 1, 3);
  bench.table.hold(kAnna.index, 1, 3);
}
void fork_onto_a_sequence(Bench& bench) {
  bench.table.hold(kAnna.index, 1, 3);
  bench.table.load(1, kAnna, true, bench.step);
}

constexpr Misuse kMisuses[] = {
    {"ReservedPageRetained", "page != 0", [](Bench& bench) { bench.pages.retain(0); }},
    {"FreePageRetained", "references > 0", [](Bench& bench) { bench.pages.retain(1); }},
    {"PageReleasedTwice", "references > 0", release_twice},
    {"PagesExhausted", "free_count_ > 0", exhaust_pages},
    {"SharedPageWritten", "references == 1", write_shared_page},
    {"NobodyWrites", "writer != 0", mark_nobody},
    {"LapOfAPageHeldAlone", "references > 1", lap_of_page_alone},
    {"AddressPastTheArena",
     "page < count_",
     [](Bench& bench) { static_cast<void>(bench.pages.address(4)); }},
    {"ReservedPageInAChunk",
     "page != 0",
     [](Bench& bench) { bench.chunks.push(bench.chunks.take(), 0); }},
    {"ChunkOverfilled", "used < chunk_pages_", overfill_chunk},
    {"PoppedFromAnEmptyChunk",
     "used > 0",
     [](Bench& bench) { static_cast<void>(bench.chunks.pop(bench.chunks.take())); }},
    {"FreeChunkReleased",
     "references > 0",
     [](Bench& bench) { static_cast<void>(bench.chunks.release(0)); }},
    {"CopyOntoItself", "copy.destination != copy.source", copy_onto_itself},
    {"CopyOfTheReservedPage", "copy.source != 0", copy_of_reserved},
    {"MoreCopiesThanThereIsRoomFor", "copy_count_ < limits_.copies", copy_too_much},
    {"ZeroOfTheReservedPage", "page != 0", [](Bench& bench) { bench.step.zero(0, 0); }},
    {"EntryBeforeTheTables",
     "entry >= tables_",
     [](Bench& bench) { bench.step.patch(bench.device_table.data() - 1, 1); }},
    {"PatchOfNothing",
     "count != 0",
     [](Bench& bench) { bench.step.patch(bench.device_table.data(), 1, 0); }},
    {"ColumnWithoutASlot", "slot != 0", [](Bench& bench) { bench.step.write_slot(0); }},
    {"RecordNotStarted", "mirror_count_ != 0", [](Bench& bench) { bench.step.mirror(); }},
    {"StageThatIsNone",
     "stage < stages_",
     [](Bench& bench) {
       static_cast<void>(bench);
       Steps steps;
       static_cast<void>(steps.of(0));
     }},
    {"PageAtPastTheTable",
     "entry < table(holder).pages",
     [](Bench& bench) {
       static_cast<void>(bench.table.page_at({HolderKind::kSequence, 1}, 2));
     }},
    {"RowsPastTheTable",
     "rows <= entries_ * page_rows_",
     [](Bench& bench) { bench.table.extend(kAnna, 1000, bench.step); }},
    {"WrittenFromARowThatIsNotThere",
     "pages_of(from) <= sequences_[owner.index].pages",
     [](Bench& bench) { static_cast<void>(bench.table.pages_needed(kAnna, 5, 6)); }},
    {"RowsHeldThatAreNotThere", "source.pages == pages_of(rows)", hold_more_than_there_is},
    {"SnapshotHeldTwice", "target.chunks == 0", hold_twice},
    {"ForkOntoASequence", "!fresh || target.chunks == 0", fork_onto_a_sequence},
    {"CapturedOntoItself", "snapshot != entry", [](Bench& bench) { bench.table.capture(1, 1); }},
    {"ReservedSequenceGrows",
     "owner.index != 0",
     [](Bench& bench) { bench.table.extend({.index = 0, .mark = 0}, 1, bench.step); }},
};

class StorageContract : public testing::TestWithParam<Misuse> {};

TEST_P(StorageContract, IsBroken) {
  Bench bench;
  std::string const said = fuzz::run_with_contract([&] { GetParam().run(bench); });
  EXPECT_NE(said.find(GetParam().condition), std::string::npos) << '"' << said << '"';
}

INSTANTIATE_TEST_SUITE_P(All, StorageContract, testing::ValuesIn(kMisuses), [](auto const& name) {
  return std::string{name.param.name};
});

TEST(StorageAudit, SaysWhoseReferencesDoNotAddUp) {
  Bench bench;
  std::uint32_t const page = bench.pages.take(kAnna.mark);
  Tally none;
  Tally one;
  one.add(page);
  Tally other;
  other.add(page + 1);
  Tally two = one;
  two.add(page);
  EXPECT_TRUE(bench.pages.audit(one));
  EXPECT_FALSE(bench.pages.audit(none));
  EXPECT_FALSE(bench.pages.audit(other));
  EXPECT_FALSE(bench.pages.audit(two));
}

TEST(StorageAudit, ChunksNameTheirPages) {
  Bench bench;
  std::uint32_t const chunk = bench.chunks.take();
  Tally chunks;
  chunks.add(chunk);
  Tally pages;
  EXPECT_FALSE(bench.chunks.audit(chunks, pages)) << "no chunk is empty";
  bench.chunks.push(chunk, 3);
  bench.chunks.push(chunk, 1);
  Tally want;
  want.add(1);
  want.add(3);
  EXPECT_TRUE(bench.chunks.audit(chunks, pages));
  EXPECT_EQ(pages, want);
  EXPECT_FALSE(bench.chunks.audit(Tally{}, pages));
}

}  // namespace
}  // namespace holdfast::test
