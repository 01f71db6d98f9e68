// SPDX-License-Identifier: Apache-2.0
// Steps of two caches with the same history: one on the host, where everything is written by calls, and
// one on a CUDA device, where the first step of each shape is captured and all others replay it. All
// device memory is compared after every step.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/forwarding_device.hpp"
#include "tests/support/layouts.hpp"
#include "tests/unit/cuda/cuda_test.hpp"
#include "tests/unit/cuda/graph_engine.hpp"

namespace holdfast::test {

/// Fills what is allocated with one value and knows where it is.
class FilledDevice final : public model::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  [[nodiscard]] std::vector<Memory> const& memories() const noexcept { return memories_; }

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    auto memory = inner().allocate(bytes, kind);
    if (memory && kind == MemoryKind::kDevice) {
      FillSegment const fill{memory->base, bytes, std::byte{0xA5}};
      EXPECT_TRUE(IsOk(inner().fill({&fill, 1}, {})));
      memories_.push_back(*memory);
    }
    return memory;
  }

 private:
  std::vector<Memory> memories_;
};

/// One item of a step of a scenario; no sequence is padding.
struct GraphItem {
  std::optional<std::uint32_t> sequence;
  StepKind kind = StepKind::kPad;
  std::uint32_t rows = 0;
  std::uint32_t keep = 0;
  AppendMode append_mode = AppendMode::kOutOfPlace;
};

/// A cache with the engine's inputs at fixed addresses.
class GraphSide {
 public:
  static constexpr std::uint32_t kSequences = 6;
  static constexpr std::uint32_t kMostRows = 64;

  explicit GraphSide(Device& inner) : device{inner}, cache{Cache::create(layout(), device)} {
    EXPECT_TRUE(IsOk(cache));
    look_ = cache->inspect();
    cached_ = device.memories().size();
    for (std::uint32_t plane = 0; plane < look_->plane_count(); ++plane) {
      PlaneInfo const info = look_->plane(plane);
      bool const is_written = info.page_rows != 0 && info.unit_tokens == 1;
      auto const layers = static_cast<std::uint32_t>(info.layers.size());
      input_bytes_ += is_written ? layers * kMostRows * info.row_elements * sizeof(float) : 0;
    }
    input_bytes_ += kMostRows * sizeof(float);
    auto memory = device.allocate(input_bytes_, MemoryKind::kDevice);
    EXPECT_TRUE(IsOk(memory));
    inputs_ = *memory;
    sequences.resize(kSequences);
    for (Sequence& sequence : sequences) {
      sequence = take(cache->create_sequence());
    }
    snapshots.resize(4);
  }
  GraphSide(GraphSide const&) = delete;
  GraphSide& operator=(GraphSide const&) = delete;
  ~GraphSide() { device.free(inputs_); }

  static Layout layout() {
    Layout layout = hybrid_layout();
    std::get<AttentionKvSpec>(layout.layers[0].planes[0]).format = Format::kBf16;
    layout.capacity.sequences = kSequences;
    layout.capacity.tokens = 600;
    layout.capacity.entries = 2;
    layout.capacity.step_rows = kMostRows;
    return layout;
  }

  template <typename T>
  static T take(Result<T> result) {
    EXPECT_TRUE(IsOk(result));
    return std::move(*result);
  }

  /// New sequences for those that were released, or that lost a state which was written in place.
  void renew() {
    for (Sequence& sequence : sequences) {
      if (!sequence.position() || look_->sequence(sequence.id().index).tainted) {
        sequence = Sequence{};
        sequence = take(cache->create_sequence());
      }
    }
  }
  /// New inputs, the same from equal draws.
  void draw_inputs(Draw draw) {
    std::vector<float> values(input_bytes_ / sizeof(float));
    for (float& value : values) {
      value = static_cast<float>(draw.below(4096)) * 0.01F - 20.0F;
    }
    EXPECT_TRUE(IsOk(device.host_write(inputs_.base, values.data(), input_bytes_, {})));
  }
  [[nodiscard]] std::vector<StepItem> items_of(std::vector<GraphItem> const& items) {
    std::vector<StepItem> list;
    for (GraphItem const& item : items) {
      list.push_back({.sequence = item.sequence ? &sequences[*item.sequence] : nullptr,
                      .kind = item.kind,
                      .rows = item.rows,
                      .append_mode = item.append_mode});
    }
    return list;
  }
  /// The launches that a graph captures: all planes, all layers, and the states.
  void write(Step& step, std::vector<GraphItem> const& items) {
    std::uint32_t rows = 0;
    for (GraphItem const& item : items) {
      rows += item.rows;
    }
    auto const* source = reinterpret_cast<float const*>(inputs_.base);
    AdvanceParameters advance{};
    advance.inputs = source;
    source += kMostRows;
    std::vector<PlaneRows> classes;
    for (std::uint32_t plane = 0; plane < look_->plane_count(); ++plane) {
      PlaneInfo const info = look_->plane(plane);
      auto const layers = static_cast<std::uint32_t>(info.layers.size());
      if (info.page_rows != 0 && info.unit_tokens == 1) {
        classes.push_back(
            {.plane = info.kind, .layer = info.layers[0], .layers = layers, .source = source});
        source += std::size_t{layers} * kMostRows * info.row_elements;
      }
    }
    EXPECT_TRUE(IsOk(step.write_all(classes)));
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      for (StateInfo const& state : look_->states()) {
        if (!items[i].sequence) {
          continue;
        }
        if (state.kind == PlaneKind::kHeld) {
          EXPECT_TRUE(IsOk(step.held(i, state.layer)));
          continue;
        }
        StateView const view = take(step.state(i, state.layer));
        advance.slots = view.slots;
        advance.slot_bytes = view.slot_bytes;
        advance.record_bytes = view.record_bytes;
        advance.records = reinterpret_cast<SequenceMirror const*>(
            reinterpret_cast<std::byte const*>(view.sequence) -
            sequences[*items[i].sequence].id().index * view.record_bytes);
        advance.has_columns = items[i].kind == StepKind::kVerify ? 1 : 0;
      }
    }
    advance.row_sequences = take(step.row_sequences());
    advance.rows = rows;
    EXPECT_TRUE(IsOk(device.launch(kAdvanceKernel, &advance, {})));
  }

  FilledDevice device;
  Result<Cache> cache;
  std::vector<Sequence> sequences;
  std::vector<Snapshot> snapshots;

 private:
  std::optional<Inspection> look_;
  std::size_t cached_ = 0;
  Memory inputs_{};
  std::uint64_t input_bytes_ = 0;
};

class GraphScenario {
 public:
  explicit GraphScenario(CudaDevice& device)
      : device_{device}, host_device_{make_host_device()}, here_{*host_device_}, there_{device} {
    auto const native = device.native_stream({});
    EXPECT_TRUE(IsOk(native));
    native_ = *native;
  }

  /// Steps of a few shapes between rollbacks, forks, snapshots and restores. Whether both sides stayed
  /// equal.
  bool replays_follow_the_sequences(std::uint32_t steps) {
    Draw draw{7};
    for (std::uint32_t i = 0; i < steps; ++i) {
      move(draw);
      if (!run_step(draw_items(draw), draw.below(1U << 20U)) || testing::Test::HasFailure()) {
        return false;
      }
    }
    return true;
  }
  /// The same with shapes that the seed chooses; some steps are given up, and some lose a sequence.
  bool replays_follow_what_a_seed_draws(std::uint32_t seed, std::uint32_t steps) {
    constexpr std::uint32_t kShapes = 5;
    Draw draw{seed};
    std::vector<std::vector<GraphItem>> shapes;
    for (std::uint32_t i = 0; i < kShapes; ++i) {
      shapes.push_back(draw_shape(draw));
    }
    for (std::uint32_t i = 0; i < steps; ++i) {
      move(draw);
      std::vector<GraphItem> items = shapes[draw.below(kShapes)];
      std::uint32_t next = draw.below(GraphSide::kSequences);
      std::uint32_t live = 0;
      for (GraphItem& item : items) {
        if (item.kind != StepKind::kPad) {
          item.sequence = next;
          next = (next + 1) % GraphSide::kSequences;
          live += 1;
          item.keep = item.kind == StepKind::kVerify ? draw.below(item.rows + 1) : item.rows;
        }
      }
      std::uint32_t const fate = draw.below(8);
      std::uint32_t const leaver = draw.below(live);
      if (!run_step(items,
                    draw.below(1U << 20U),
                    fate == 0   ? Fate::kDropped
                    : fate == 1 ? Fate::kLeft
                                : Fate::kFinished,
                    leaver) ||
          testing::Test::HasFailure()) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::size_t graphs() const noexcept { return graphs_.size(); }
  [[nodiscard]] std::uint32_t replays() const noexcept { return replays_; }
  [[nodiscard]] std::size_t most_kernel_nodes() const noexcept { return most_kernel_nodes_; }

  /// A step of another shape, and another cache, refuse what was captured here.
  bool other_shapes_are_refused() {
    std::vector<GraphItem> const captured = {{.sequence = 0, .kind = StepKind::kAppend, .rows = 2}};
    std::vector<GraphItem> const longer = {{.sequence = 0, .kind = StepKind::kAppend, .rows = 3}};
    std::vector<GraphItem> const round = {{.sequence = 0, .kind = StepKind::kVerify, .rows = 2}};
    Step step = GraphSide::take(there_.cache->begin(there_.items_of(captured)));
    there_.write(step, captured);
    GraphSignature const signature = GraphSide::take(step.signature());
    EXPECT_TRUE(IsOk(step.drop()));
    bool refused = true;
    for (auto const& items : {longer, round}) {
      Step other = GraphSide::take(there_.cache->begin(there_.items_of(items)));
      refused = refused && !other.replay(signature);
      EXPECT_TRUE(IsOk(other.drop()));
    }
    GraphSide another{device_};
    Step same = GraphSide::take(another.cache->begin(another.items_of(captured)));
    refused = refused && !same.replay(signature);
    EXPECT_TRUE(IsOk(same.drop()));
    return refused;
  }

 private:
  struct Known {
    CapturedGraph graph;
    GraphSignature signature;
  };

  enum class Fate : std::uint8_t { kFinished, kDropped, kLeft };

  /// Appends or rounds, and padding anywhere; at most four sequences.
  static std::vector<GraphItem> draw_shape(Draw& draw) {
    std::vector<GraphItem> items;
    bool const rounds = draw.below(3) == 0;
    std::uint32_t const count = 1 + draw.below(4);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (draw.below(4) == 0) {
        items.push_back({.rows = 1 + draw.below(3)});
      }
      AppendMode const mode = draw.below(3) == 0 ? AppendMode::kInPlace : AppendMode::kOutOfPlace;
      items.push_back({.kind = rounds ? StepKind::kVerify : StepKind::kAppend,
                       .rows = 1 + draw.below(rounds ? 4 : 12),
                       .append_mode = mode});
    }
    return items;
  }

  /// Distinct sequences in one of a few shapes.
  std::vector<GraphItem> draw_items(Draw& draw) {
    std::uint32_t const first = draw.below(GraphSide::kSequences);
    auto const other = (first + 1 + draw.below(GraphSide::kSequences - 1)) % GraphSide::kSequences;
    std::uint32_t const shape = draw.below(4);
    if (shape == 0) {
      return {{.sequence = first, .kind = StepKind::kAppend, .rows = 3, .keep = 3},
              {.rows = 2},
              {.sequence = other, .kind = StepKind::kAppend, .rows = 9, .keep = 9}};
    }
    if (shape == 1) {
      return {{.sequence = first, .kind = StepKind::kAppend, .rows = 1, .keep = 1},
              {.sequence = other, .kind = StepKind::kAppend, .rows = 1, .keep = 1}};
    }
    if (shape == 2) {
      return {{.sequence = first,
               .kind = StepKind::kAppend,
               .rows = 2,
               .keep = 2,
               .append_mode = AppendMode::kInPlace}};
    }
    return {{.sequence = first, .kind = StepKind::kVerify, .rows = 4, .keep = draw.below(5)},
            {.sequence = other, .kind = StepKind::kVerify, .rows = 4, .keep = draw.below(5)},
            {.rows = 1}};
  }

  template <typename Do>
  void on_both(Do deed) {
    deed(here_);
    deed(there_);
  }

  /// Something that changes where a sequence's rows and states lie.
  void move(Draw& draw) {
    std::uint32_t const sequence = draw.below(GraphSide::kSequences);
    std::uint32_t const snapshot = draw.below(4);
    switch (draw.below(6)) {
      case 0:
        on_both([&](GraphSide& side) {
          side.snapshots[snapshot] = Snapshot{};
          side.snapshots[snapshot] = GraphSide::take(side.sequences[sequence].snapshot());
        });
        return;
      case 1:
        on_both([&](GraphSide& side) {
          if (side.snapshots[snapshot].position()) {
            EXPECT_TRUE(IsOk(side.sequences[sequence].rollback(side.snapshots[snapshot])));
          }
        });
        return;
      case 2:
        on_both([&](GraphSide& side) {
          if (side.snapshots[snapshot].position()) {
            side.sequences[sequence] = Sequence{};
            side.sequences[sequence] = GraphSide::take(side.snapshots[snapshot].fork());
          }
        });
        return;
      case 3:
        on_both([&](GraphSide& side) { restore(side, sequence, snapshot); });
        return;
      default:
        on_both([&](GraphSide& side) {  // room for more rows
          if (GraphSide::take(side.sequences[sequence].position()) > 500) {
            side.sequences[sequence] = Sequence{};
            side.sequences[sequence] = GraphSide::take(side.cache->create_sequence());
          }
        });
    }
  }
  static void restore(GraphSide& side, std::uint32_t sequence, std::uint32_t snapshot) {
    auto const position = side.snapshots[snapshot].position();
    if (!position || *position == 0) {
      return;
    }
    std::vector<TokenKey> tokens(*position, 1);
    tokens[0] = snapshot + 2;
    EXPECT_TRUE(IsOk(side.device.synchronize({})));
    EntryId const entry =
        GraphSide::take(side.cache->capture({}, side.snapshots[snapshot], tokens));
    side.sequences[sequence] = Sequence{};
    side.sequences[sequence] =
        std::move(GraphSide::take(side.cache->restore({}, tokens, UINT32_MAX)).sequence);
    EXPECT_TRUE(IsOk(side.cache->erase(entry)));
  }

  /// `leaver`: the how-manieth sequence of the step is released, when one leaves.
  bool run_step(std::vector<GraphItem> const& items,
                std::uint32_t seed,
                Fate fate = Fate::kFinished,
                std::uint32_t leaver = 0) {
    std::vector<std::uint32_t> keep;
    std::string shape;
    for (GraphItem const& item : items) {
      keep.push_back(item.keep);
      shape += std::to_string(static_cast<int>(item.kind)) + ":" + std::to_string(item.rows) + ":" +
               std::to_string(static_cast<int>(item.append_mode)) + " ";
    }
    on_both([&](GraphSide& side) { side.draw_inputs(Draw{seed}); });
    Step here = GraphSide::take(here_.cache->begin(here_.items_of(items)));
    here_.write(here, items);
    Step there = GraphSide::take(there_.cache->begin(there_.items_of(items)));
    Known& known = graphs_[shape];
    if (known.signature.cache == 0) {
      EXPECT_TRUE(known.graph.begin(native_));
      there_.write(there, items);
      EXPECT_TRUE(known.graph.end(native_));
      known.signature = GraphSide::take(there.signature());
      most_kernel_nodes_ = std::max(most_kernel_nodes_, known.graph.kernel_nodes());
      EXPECT_EQ(known.graph.nodes(), known.graph.kernel_nodes());
    } else {
      EXPECT_TRUE(IsOk(there.replay(known.signature)));
      ++replays_;
    }
    EXPECT_TRUE(known.graph.launch(native_));
    for (std::uint32_t i = 0, live = 0; i < items.size() && fate == Fate::kLeft; ++i) {
      if (items[i].sequence && live++ == leaver) {
        on_both([&](GraphSide& side) {
          EXPECT_TRUE(IsOk(side.sequences[*items[i].sequence].release()));
        });
        keep[i] = 0;
      }
    }
    EXPECT_TRUE(IsOk(fate == Fate::kDropped ? here.drop() : here.finish(keep)));
    EXPECT_TRUE(IsOk(fate == Fate::kDropped ? there.drop() : there.finish(keep)));
    bool const equal = is_equal();
    on_both([&](GraphSide& side) { side.renew(); });
    return equal;
  }

  bool is_equal() {
    for (std::size_t i = 0; i < here_.device.memories().size(); ++i) {
      Memory const& here = here_.device.memories()[i];
      std::vector<std::byte> found(here.bytes);
      EXPECT_TRUE(IsOk(
          device_.host_read(found.data(), there_.device.memories()[i].base, found.size(), {})));
      if (std::memcmp(found.data(), here.base, here.bytes) != 0) {
        return false;
      }
    }
    return true;
  }

  CudaDevice& device_;
  std::unique_ptr<Device> host_device_;
  GraphSide here_;
  GraphSide there_;
  void* native_ = nullptr;
  std::map<std::string, Known> graphs_;
  std::uint32_t replays_ = 0;
  std::size_t most_kernel_nodes_ = 0;
};

/// A device that knows the engine's kernel, or a skip.
class CudaGraphTest : public testing::Test {
 protected:
  void SetUp() override {
    CudaKernel const kernel{&kAdvanceKernel, &launch_advance};
    auto device = make_cuda_device(0, {&kernel, 1});
    if (!device) {
      GTEST_SKIP() << "SKIPPED: no CUDA device: " << describe(device.error());
    }
    device_ = std::move(*device);
  }
  std::unique_ptr<CudaDevice> device_;
};

}  // namespace holdfast::test
