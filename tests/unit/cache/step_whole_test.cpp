// SPDX-License-Identifier: Apache-2.0
// Goal: rows of a step that are written at once are those of its items one by one; what a step cannot
// write at once is refused, naming the item; a step of the same shape may be declared written by its
// signature, and no other.
// Method: the same tokens both ways; one wrong thing at a time.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <utility>
#include <vector>

#include "tests/support/layouts.hpp"
#include "tests/support/status.hpp"
#include "tests/support/step_engine.hpp"
#include "tests/support/toy_engine.hpp"

namespace holdfast::test {
namespace {

/// Three sequences of some rows.
class WholeStep : public testing::Test {
 protected:
  WholeStep() : device_{make_host_device()}, cache_{Cache::create(hybrid_layout(), *device_)} {
    start();
  }

  void create(Layout const& layout) {
    sequences_ = {};
    cache_ = Cache::create(layout, *device_);
    start();
  }
  void start() {
    ASSERT_TRUE(IsOk(cache_));
    for (std::uint32_t i = 0; i < sequences_.size(); ++i) {
      auto sequence = cache_->create_sequence();
      ASSERT_TRUE(IsOk(sequence));
      sequences_[i] = std::move(*sequence);
      histories_[i].clear();
      ToyEngine{*cache_}.append(sequences_[i], histories_[i], make_tokens(3 + i, i));
    }
  }
  [[nodiscard]] StepPart append(std::uint32_t i, std::uint32_t rows) {
    return append_part(sequences_[i], histories_[i], make_tokens(rows, i + 9));
  }
  [[nodiscard]] StepPart verify(std::uint32_t i, std::uint32_t rows, std::uint32_t keep) {
    return verify_part(sequences_[i], histories_[i], make_tokens(rows, i + 5), keep);
  }
  [[nodiscard]] Step begin(std::vector<StepPart> const& parts) {
    auto step = cache_->begin(items_of(parts));
    EXPECT_TRUE(IsOk(step));
    return std::move(*step);
  }
  /// One call for all plane classes.
  void write_rows_at_once(Step& step, std::vector<StepPart> const& parts) {
    Inspection const look = cache_->inspect();
    std::vector<PlaneRows> classes;
    std::vector<std::vector<float>> sources(look.plane_count());
    for (std::uint32_t index = 0; index < look.plane_count(); ++index) {
      PlaneInfo const plane = look.plane(index);
      if (plane.page_rows == 0 || plane.unit_tokens != 1) {
        continue;
      }
      std::vector<float>& source = sources[index];
      for (std::uint32_t const layer : plane.layers) {
        for (StepPart const& part : parts) {
          if (part.kind == StepKind::kPad) {
            source.resize(source.size() + part.tokens.size() * plane.row_elements, 77.0F);
            continue;
          }
          auto const rows = ToyEngine{*cache_}.rows(
              plane, layer, static_cast<std::uint32_t>(part.history->size()), part.tokens);
          source.insert(source.end(), rows.begin(), rows.end());
        }
      }
      classes.push_back({.plane = plane.kind,
                         .layer = plane.layers[0],
                         .layers = static_cast<std::uint32_t>(plane.layers.size()),
                         .source = source.data()});
    }
    EXPECT_TRUE(IsOk(step.write_all(classes)));
  }
  void write_at_once(Step& step, std::vector<StepPart> const& parts) {
    write_rows_at_once(step, parts);
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
      if (parts[i].kind != StepKind::kPad) {
        ItemRows open{step, i};
        ToyEngine{*cache_}.write_states(open, parts[i].tokens, parts[i].kind == StepKind::kVerify);
      }
    }
  }
  void expect_all() {
    for (std::uint32_t i = 0; i < sequences_.size(); ++i) {
      ToyEngine{*cache_}.expect(sequences_[i], histories_[i]);
    }
  }

  std::unique_ptr<Device> device_;
  Result<Cache> cache_;
  std::array<Sequence, 3> sequences_;
  std::array<History, 3> histories_;
  std::array<float, 512> source_{};
};

TEST_F(WholeStep, IsItsItemsOneByOne) {
  for (std::uint32_t round = 0; round < 4; ++round) {
    std::vector<StepPart> const parts = {verify(2, 4, round),
                                         pad_part(2),
                                         append(0, 1 + 2 * round),
                                         pad_part(1),
                                         verify(1, round, round / 2)};
    Step step = begin(parts);
    write_at_once(step, parts);
    ASSERT_TRUE(IsOk(step.finish(keeps_of(parts))));
    note_kept(parts);
    expect_all();
  }
}

TEST_F(WholeStep, WritesRoundsAgain) {
  std::vector<StepPart> const parts = {verify(0, 4, 3), verify(1, 3, 3)};
  Step step = begin(parts);
  std::vector<StepPart> wrong = parts;
  wrong[0].tokens = make_tokens(4, 50);
  write_at_once(step, wrong);
  write_at_once(step, parts);
  ASSERT_TRUE(IsOk(step.finish(keeps_of(parts))));
  note_kept(parts);
  expect_all();
}

TEST_F(WholeStep, RefusesWhatIsNotThere) {
  Step step = begin({append(0, 2), append(1, 1)});
  auto const write = [&](PlaneKind kind, std::uint32_t layer, std::uint32_t layers) {
    return step.write_all(kind, layer, layers, source_.data());
  };
  EXPECT_TRUE(HasCode(write(PlaneKind::kAttentionKv, 1, 1), ErrorCode::kInvalidArgument, "plane"));
  EXPECT_TRUE(HasCode(write(PlaneKind::kPoolKeys, 2, 1), ErrorCode::kInvalidArgument, "plane"));
  EXPECT_TRUE(HasCode(write(PlaneKind::kLatent, 2, 3), ErrorCode::kInvalidArgument, "layers"));
  EXPECT_TRUE(HasCode(write(PlaneKind::kLatent, 2, 0), ErrorCode::kInvalidArgument, "layers"));
  EXPECT_TRUE(HasCode(
      step.write_all(PlaneKind::kLatent, 2, 1, nullptr), ErrorCode::kInvalidArgument, "source"));
  EXPECT_TRUE(HasCode(step.write_all(PlaneKind::kLatent, 2, 1, source_.data(), {}, 1),
                      ErrorCode::kInvalidArgument,
                      "rank"));
  EXPECT_TRUE(IsOk(write(PlaneKind::kLatent, 4, 1)));
}

TEST_F(WholeStep, RefusesAListAsAWhole) {
  Step step = begin({append(0, 2), append(1, 1)});
  PlaneRows const one{
      .plane = PlaneKind::kLatent, .layer = 2, .layers = 2, .source = source_.data()};
  PlaneRows last = one;
  last.layer = 4;
  last.layers = 1;
  EXPECT_TRUE(
      HasCode(step.write_all(std::array{one, last}), ErrorCode::kInvalidArgument, "classes"));
  EXPECT_TRUE(HasCode(
      step.write_all(std::vector<PlaneRows>(17, one)), ErrorCode::kInvalidArgument, "classes"));
  PlaneRows wrong = last;
  wrong.source = nullptr;
  PlaneRows first = one;
  first.layers = 1;
  EXPECT_TRUE(
      HasCode(step.write_all(std::array{first, wrong}), ErrorCode::kInvalidArgument, "source"));
  EXPECT_TRUE(IsOk(step.write_all(std::array{first, last}))) << "nothing was written before";
  EXPECT_TRUE(IsOk(step.write_all(std::span<PlaneRows const>{})));
}

TEST_F(WholeStep, RefusesAppendsThatHaveRows) {
  Step step = begin({verify(0, 2, 1), append(1, 2)});
  ASSERT_TRUE(IsOk(step.write(1, PlaneKind::kLatent, 2, source_.data(), 0, 1)));
  auto const refused = step.write_all(PlaneKind::kLatent, 2, 1, source_.data());
  ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, "item"));
  EXPECT_EQ(refused.error().item, 1);
  EXPECT_TRUE(IsOk(step.write_all(PlaneKind::kLatent, 4, 1, source_.data())));
}

TEST_F(WholeStep, RefusesReleasedSequences) {
  Step step = begin({append(0, 2), append(1, 2)});
  ASSERT_TRUE(IsOk(sequences_[1].release()));
  auto const refused = step.write_all(PlaneKind::kLatent, 2, 1, source_.data());
  ASSERT_TRUE(HasCode(refused, ErrorCode::kStale));
  EXPECT_EQ(refused.error().item, 1);
  EXPECT_TRUE(HasCode(step.signature(), ErrorCode::kStale));
}

TEST_F(WholeStep, RefusesWhenAnotherStepHasItsMap) {
  Step step = begin({append(0, 2)});
  Step const other = begin({append(1, 2)});
  EXPECT_TRUE(HasCode(step.write_all(PlaneKind::kLatent, 2, 1, source_.data()),
                      ErrorCode::kInvalidArgument,
                      "step"));
}

TEST_F(WholeStep, RefusesDraftPlanes) {
  Layout layout = attention_layout();
  layout.layers.push_back({{DraftKvSpec{{.heads = 1, .head_dim = 1}}}});
  create(layout);
  Step step = begin({append(0, 2)});
  EXPECT_TRUE(HasCode(step.write_all(PlaneKind::kDraftKv, 3, 1, source_.data()),
                      ErrorCode::kInvalidArgument,
                      "plane"));
}

TEST_F(WholeStep, HasASignatureWhenItIsWritten) {
  std::vector<StepPart> const parts = {append(0, 2), pad_part(1), verify(1, 3, 2)};
  Step step = begin(parts);
  auto const missing = step.signature();
  ASSERT_TRUE(HasCode(missing, ErrorCode::kIncomplete));
  EXPECT_EQ(missing.error().item, 0);
  write_at_once(step, parts);
  auto const signature = step.signature();
  ASSERT_TRUE(IsOk(signature));
  EXPECT_EQ(signature->rows, 6U);
  ASSERT_TRUE(IsOk(step.finish(keeps_of(parts))));

  // Other sequences in the same shape; nothing else may stand for it.
  auto const answer = [&](std::vector<StepPart> const& items) {
    return begin(items).replay(*signature);
  };
  EXPECT_TRUE(IsOk(answer({append(2, 2), pad_part(1), verify(0, 3, 0)})));
  for (auto const& items : {std::vector{append(2, 2), verify(0, 3, 0)},
                            std::vector{append(2, 2), pad_part(1), verify(0, 4, 0)},
                            std::vector{verify(2, 2, 0), pad_part(1), verify(0, 3, 0)},
                            std::vector{pad_part(1), append(2, 2), verify(0, 3, 0)}}) {
    EXPECT_TRUE(HasCode(answer(items), ErrorCode::kInvalidArgument, "signature"));
  }
  create(hybrid_layout());
  EXPECT_TRUE(HasCode(answer({append(2, 2), pad_part(1), verify(0, 3, 0)}),
                      ErrorCode::kInvalidArgument,
                      "signature"));
}

TEST_F(WholeStep, CountsAsWrittenOnceReplayed) {
  std::vector<StepPart> parts = {append(0, 2), verify(1, 3, 2)};
  Step first = begin(parts);
  write_at_once(first, parts);
  auto const signature = first.signature();
  ASSERT_TRUE(IsOk(signature));
  ASSERT_TRUE(IsOk(first.finish(keeps_of(parts))));
  note_kept(parts);

  parts = {append(2, 2), verify(0, 3, 3)};
  Step step = begin(parts);
  write_at_once(step, parts);  // stands for the graph, which writes the same
  ASSERT_TRUE(HasCode(step.replay(*signature), ErrorCode::kInvalidArgument, "item"));
  ASSERT_TRUE(IsOk(step.drop()));
  Step again = begin(parts);
  EXPECT_TRUE(HasCode(again.finish(keeps_of(parts)), ErrorCode::kIncomplete));
  ASSERT_TRUE(IsOk(again.replay(*signature)));
  EXPECT_TRUE(IsOk(again.finish(keeps_of(parts))));
}

TEST_F(WholeStep, IsNotReplayedWhereAViewedRingWouldBeLapped) {
  create(latent_layout());  // sequence i is at 3 + i; a ring of 6 takes 6 less position % 2
  std::vector<StepPart> const parts = {append(1, 6)};
  Step step = begin(parts);
  ASSERT_TRUE(IsOk(step.write_all(PlaneKind::kLatent, 0, 2, source_.data())));
  for (std::uint32_t const layer : {0U, 2U}) {
    ASSERT_TRUE(IsOk(step.rows(0, PlaneKind::kTailRing, layer)));
  }
  auto const signature = step.signature();
  ASSERT_TRUE(IsOk(signature));
  ASSERT_TRUE(IsOk(step.drop()));
  {
    Step odd = begin({pad_part(1), append(0, 6)});
    EXPECT_TRUE(
        HasCode(odd.rows(1, PlaneKind::kTailRing, 0), ErrorCode::kInvalidArgument, "plane"));
  }
  Step odd = begin({append(0, 6)});
  Status const refused = odd.replay(*signature);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, "plane"));
  EXPECT_EQ(refused.error().item, 0);
  EXPECT_TRUE(HasCode(odd.signature(), ErrorCode::kIncomplete)) << "nothing counts as written";
  ASSERT_TRUE(IsOk(odd.drop()));
  EXPECT_TRUE(IsOk(begin({append(1, 6)}).replay(*signature)));
}

TEST_F(WholeStep, IsReplayedWhenDraftRowsCameFirst) {
  create(small_layout({{{small_attention()}}, {{DraftKvSpec{{.heads = 1, .head_dim = 1}}}}}));
  Step step = begin({append(0, 2)});
  ASSERT_TRUE(IsOk(step.write_all(PlaneKind::kAttentionKv, 0, 1, source_.data())));
  auto const signature = step.signature();
  ASSERT_TRUE(IsOk(signature));
  ASSERT_TRUE(IsOk(step.drop()));
  Step again = begin({append(0, 2)});
  ASSERT_TRUE(IsOk(again.write(0, PlaneKind::kDraftKv, 1, source_.data(), 0, 1)));
  EXPECT_TRUE(IsOk(again.replay(*signature)));
}

TEST_F(WholeStep, IsStillOpenWhenItsDropIsRefused) {
  Step step = begin({verify(0, 4, 0)});
  Status written;
  for (std::uint32_t stream = 0; written && stream <= kLargestStreamCount; ++stream) {
    written = step.write(0, PlaneKind::kAttentionKv, 0, source_.data(), 0, 1, Stream{stream});
  }
  ASSERT_TRUE(HasCode(written, ErrorCode::kExhausted)) << "no stream is left";
  ASSERT_TRUE(HasCode(step.drop(Stream{99}), ErrorCode::kExhausted));
  ASSERT_TRUE(IsOk(step.drop()));
  EXPECT_TRUE(IsOk(sequences_[0].append(1)));
}

}  // namespace
}  // namespace holdfast::test
