// SPDX-License-Identifier: Apache-2.0
// Validation of layouts and the plan that is derived from them.
#include "storage/plan.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "base/mutants.hpp"
#include "storage/layout_check.hpp"
#include "storage/step.hpp"

namespace holdfast::internal::storage {
namespace {

constexpr std::uint32_t kF32Bytes = 4;

/// A refusal that names layer and field.
Error refuse(std::int64_t layer,
             char const* field,
             char const* text,
             std::int64_t got = 0,
             std::int64_t limit = 0) {
  return LayerRules{.layer = static_cast<std::int32_t>(layer)}.refuse(field, text, got, limit);
}

/// Multiplies sizes and remembers whether any product left 62 bits.
class CheckedProduct {
 public:
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product) || product > (std::uint64_t{1} << 62U)) {
      overflowed_ = true;
      return 0;
    }
    return product;
  }
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

 private:
  bool overflowed_ = false;
};

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// Turns specs into class plans: one overload a spec; layers of the same kind and shape share a
/// class.
class Planner {
 public:
  Planner(Layout const& layout, Plan& plan) noexcept : layout_{layout}, plan_{plan} {}

  Status run() noexcept {
    HOLDFAST_ASSERT(plan_.class_count == 0);
    HOLDFAST_ASSERT(plan_.sequence_limit > 1);
    HOLDFAST_TRY(collect());
    HOLDFAST_TRY(check_pools());
    for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
      HOLDFAST_TRY(size(plan_.classes[index]));
    }
    for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
      std::uint64_t const cleared = plan_.cleared_bytes(plan_.classes[index].stage);
      plan_.classes[index].arena_offset += cleared;
      plan_.classes[index].stash_offset += cleared;
      HOLDFAST_ASSERT(cleared % kArenaAlignment == 0);
      HOLDFAST_ASSERT(plan_.classes[index].arena_offset <=
                      plan_.device_bytes(plan_.classes[index].stage));
    }
    return size_steps();
  }

 private:
  /// Pass 0 counts the layers of each class, pass 1 lists them.
  Status collect() noexcept {
    auto const layer_count = static_cast<std::uint32_t>(layout_.layers.size());
    HOLDFAST_ASSERT(layer_count != 0);
    HOLDFAST_ASSERT(layout_.stages != 0);
    plan_.layer_count = layer_count;
    if (!plan_.entries.create(std::uint64_t{layer_count} * kPlaneKindCount) ||
        !plan_.layer_ids.create(std::uint64_t{layer_count} * kPlaneKindCount) ||
        !plan_.state_entries.create(std::uint64_t{layer_count} * kStatePartCount) ||
        !plan_.states.create(std::uint64_t{layer_count} * kPlaneKindCount) ||
        !plan_.state_views.create(std::uint64_t{layer_count} * kPlaneKindCount) ||
        !plan_.stash_views.create(std::uint64_t{layer_count} * kPlaneKindCount) ||
        !plan_.stage_plans.create(layout_.stages)) {
      return out_of_memory();
    }
    // Stage by stage, so that the parts of a slot lie together; then by kind, so that every derived
    // plane follows what it is derived from.
    for (std::uint32_t stage = 0; stage < layout_.stages; ++stage) {
      for (std::uint32_t kind = 0; kind < kPlaneKindCount; ++kind) {
        HOLDFAST_TRY(add_all(stage, static_cast<PlaneKind>(kind)));
      }
    }
    std::uint32_t first = 0;
    for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
      ClassPlan& known = plan_.classes[index];
      HOLDFAST_ASSERT(known.layer_count != 0);
      known.first_layer = first;
      first += known.layer_count;
      for (std::uint64_t at = 0; at < plan_.entries.size(); ++at) {
        LayerEntry const& entry = plan_.entries[at];
        if (entry.class_plus_one == index + 1) {
          HOLDFAST_ASSERT(entry.index < known.layer_count);
          plan_.layer_ids[known.first_layer + entry.index] =
              static_cast<std::uint32_t>(at / kPlaneKindCount);
        }
      }
    }
    return {};
  }

  /// Adds what the layers of a stage have of one kind.
  Status add_all(std::uint32_t stage, PlaneKind kind) noexcept {
    HOLDFAST_ASSERT(stage < layout_.stages);
    Status answer;
    for (layer_ = 0; layer_ < layout_.layers.size(); ++layer_) {
      for (PlaneSpec const& spec : layout_.layers[layer_].planes) {
        std::visit(
            [&](auto const& known) {
              known.describe([&](auto const& described) {
                if (answer && layout_.layers[layer_].stage == stage && described.kind == kind) {
                  answer = add(described);
                }
              });
            },
            spec);
      }
    }
    return answer;
  }

  /// Whether rows are what every rule takes for granted.
  static Status check_rows(RowsDescription const& rows, LayerRules const& rules) noexcept {
    HOLDFAST_ASSERT(rules.ranks != 0);
    char const* const name = name_of(rows.kind);
    std::uint32_t const shares = rows.split ? rules.ranks : 1;
    if (rows.elements() / shares > kLargestSize) {
      return rules.refuse(name,
                          "has a row of more elements than any size may be",
                          static_cast<std::int64_t>(rows.elements() / shares),
                          kLargestSize);
    }
    if (rows.strip_count() == 0) {
      return rules.refuse(name, "has rows without elements");
    }
    for (std::uint32_t i = 0; i < rows.strip_count(); ++i) {
      StripDescription const& strip = rows.strips[i];
      if (!is_known(strip.format)) {
        return rules.refuse(name, "has a strip of no known format");
      }
      std::uint64_t const pieces = std::uint64_t{trait_of(strip.format).block_elements} * shares;
      if (strip.elements % pieces != 0) {
        return rules.refuse(name,
                            "has a strip that is not whole blocks of its format on every rank",
                            static_cast<std::int64_t>(strip.elements),
                            static_cast<std::int64_t>(pieces));
      }
    }
    if (rows.unit_tokens == 0 || (rows.derived && rows.unit_tokens != rows.pool)) {
      return rules.refuse(
          name, "has rows of another number of tokens than its pool", rows.unit_tokens, rows.pool);
    }
    if (rows.derived && (shares != 1 || !rows.is_plain())) {
      return rules.refuse(name, "has keys that are not one strip of f32, the same on every rank");
    }
    return {};
  }

  Status add(RowsDescription rows) noexcept {
    LayerRules const rules = rules_of(layer_);
    HOLDFAST_TRY(check_rows(rows, rules));
    HOLDFAST_TRY(traits_of(rule_of(rows.kind)).check_rows(rows, rules));
    for (StripDescription& strip : rows.strips) {
      strip.elements /= rows.split ? layout_.ranks : 1;
    }
    return join(rows);
  }
  Status add(StateDescription const& known) noexcept {
    HOLDFAST_TRY(traits_of(rule_of(known.kind)).check_state(known, rules_of(layer_)));
    HOLDFAST_TRY(join({.kind = known.kind}));
    CheckedProduct product;
    std::uint64_t const channels = known.channels / layout_.ranks;
    std::uint32_t const heads = known.heads / layout_.ranks;
    std::uint64_t const conv = product(channels, known.window);
    std::uint64_t const ssm = product(product(heads, known.d_k), known.d_v);
    if (product.overflowed() || channels > UINT32_MAX || conv > UINT32_MAX || ssm > UINT32_MAX) {
      return refuse(layer_, name_of(known.kind), "has a state of more elements than 32 bits count");
    }
    HOLDFAST_ASSERT(entry_of(known.kind).class_plus_one != 0);
    ClassPlan& slots = plan_.classes[entry_of(known.kind).class_plus_one - 1U];
    HOLDFAST_ASSERT(slots.traits->is_slot);
    HOLDFAST_ASSERT(slots.stage == layout_.layers[layer_].stage);
    StateInfo& state = plan_.states[plan_.state_count];
    StateView& view = plan_.state_views[plan_.state_count];
    state = {.kind = known.kind,
             .layer = layer_,
             .conv_offset = slots.page_bytes,
             .conv_elements = static_cast<std::uint32_t>(conv),
             .ssm_offset = slots.page_bytes + conv * kF32Bytes,
             .ssm_elements = static_cast<std::uint32_t>(ssm),
             .held_offset = slots.page_bytes + (conv + ssm) * kF32Bytes,
             .held_elements = known.held};
    view.conv_offset = state.conv_offset;
    view.ssm_offset = state.ssm_offset;
    view.conv_dim = static_cast<std::uint32_t>(channels);
    view.window = known.window;
    view.heads = heads;
    view.d_k = known.d_k;
    view.d_v = known.d_v;
    slots.page_bytes += (conv + ssm + known.held) * kF32Bytes;
    StashView& stash = plan_.stash_views[plan_.state_count++];
    stash.layer_offset = slots.stash_row_bytes;
    stash.row_bytes = known.stash_row_bytes;
    slots.stash_row_bytes += known.stash_row_bytes;
    bool const stashes = conv + ssm != 0;
    HOLDFAST_TRY(enter_state(known.kind, StatePart::kRecurrence, stashes));
    HOLDFAST_TRY(enter_state(known.kind, StatePart::kHeld, known.held != 0));
    plan_.stash_count += stashes && known.stash_row_bytes != 0 ? 1 : 0;
    recurrent_count_ += stashes ? 1 : 0;
    if (plan_.stash_count != 0 && plan_.stash_count != recurrent_count_) {
      return refuse(
          layer_, "recurrent.stash_row_bytes", "must be given for all layers or for none");
    }
    return {};
  }

  /// Notes which kind of the layer has a part of the state, when `has` it.
  Status enter_state(PlaneKind kind, StatePart part, bool has) noexcept {
    HOLDFAST_ASSERT(layer_ < plan_.layer_count);
    LayerEntry& entry = plan_.state_entries[std::uint64_t{layer_} * kStatePartCount +
                                            static_cast<std::uint32_t>(part)];
    if (has && entry.class_plus_one != 0) {
      return refuse(layer_, name_of(kind), "is a second state of its layer");
    }
    entry = has ? entry_of(kind) : entry;
    return {};
  }

  /// Pool keys have the rows that they are made of in their layer, and the other way round: one of each.
  Status check_pools() noexcept {
    for (layer_ = 0; layer_ < plan_.layer_count; ++layer_) {
      ClassPlan const* keys = nullptr;
      ClassPlan const* rows = nullptr;
      for (std::uint32_t kind = 0; kind < kPlaneKindCount; ++kind) {
        LayerEntry const& entry = entry_of(static_cast<PlaneKind>(kind));
        if (entry.class_plus_one == 0) {
          continue;
        }
        HOLDFAST_ASSERT(entry.class_plus_one <= plan_.class_count);
        ClassPlan const& known = plan_.classes[entry.class_plus_one - 1U];
        ClassPlan const*& seen = known.derived ? keys : rows;
        if ((known.derived || known.pooled) && seen != nullptr) {
          return refuse(layer_, name_of(known.kind), "is a second one of its layer with a pool");
        }
        seen = known.derived || known.pooled ? &known : seen;
      }
      if ((keys == nullptr) != (rows == nullptr)) {
        return refuse(layer_,
                      name_of((keys == nullptr ? rows : keys)->kind),
                      keys == nullptr ? "is pooled, but its layer has no pool keys"
                                      : "is derived, but its layer has no pooled rows");
      }
      if (keys != nullptr && (keys->pool != rows->pool || keys->key_width != rows->key_width ||
                              keys->row_elements != keys->key_width)) {
        return refuse(layer_, name_of(keys->kind), "has another pool or width than its rows say");
      }
    }
    return {};
  }

  /// What the specs of a layer are checked against.
  [[nodiscard]] LayerRules rules_of(std::uint32_t layer) const noexcept {
    HOLDFAST_ASSERT(layer < layout_.layers.size());
    return {.layer = static_cast<std::int32_t>(layer),
            .ranks = layout_.ranks,
            .page_rows = layout_.page_rows,
            .largest_round = layout_.capacity.largest_round};
  }

  /// Entry of a kind in the layer that is being added.
  LayerEntry& entry_of(PlaneKind kind) noexcept {
    HOLDFAST_ASSERT(static_cast<std::uint32_t>(kind) < kPlaneKindCount);
    return plan_
        .entries[std::uint64_t{layer_} * kPlaneKindCount + static_cast<std::uint32_t>(kind)];
  }

  static bool have_same_strips(ClassPlan const& known, RowsDescription const& rows) noexcept {
    bool same = known.strips.count == rows.strip_count();
    for (std::uint32_t i = 0; same && i < known.strips.count; ++i) {
      same =
          known.strips[i].elements == rows.strips[i].elements &&
          (known.strips[i].format == rows.strips[i].format || HOLDFAST_MUTANT(kFormatsShareClass));
    }
    return same;
  }

  Status join(RowsDescription const& rows) noexcept {
    if (entry_of(rows.kind).class_plus_one != 0) {
      return refuse(layer_, name_of(rows.kind), "is a plane that its layer has twice");
    }
    RuleTraits const& traits = traits_of(rule_of(rows.kind));
    std::uint32_t const stage = layout_.layers[layer_].stage;
    std::uint32_t index = 0;
    for (; index < plan_.class_count; ++index) {
      ClassPlan const& known = plan_.classes[index];
      bool const same_shape = known.kind == rows.kind && have_same_strips(known, rows) &&
                              known.pool == rows.pool && known.window_rows == rows.window_rows &&
                              shapes_[index] == rows.shape;
      // One slot holds the states of all kinds.
      bool const both_slots = known.traits->is_slot && traits.is_slot;
      if ((same_shape || both_slots) && known.stage == stage) {
        break;
      }
    }
    if (index == plan_.class_count) {
      if (plan_.class_count == kLargestClassCount) {
        return refuse(layer_,
                      "planes",
                      "makes more plane classes than are supported",
                      index + 1,
                      kLargestClassCount);
      }
      shapes_[index] = rows.shape;
      ClassPlan& fresh = plan_.classes[plan_.class_count++];
      fresh = {};
      fresh.kind = rows.kind;
      fresh.rule = rule_of(rows.kind);
      fresh.traits = &traits;
      fresh.derived = rows.derived;
      fresh.pooled = rows.pooled;
      fresh.split = rows.split;
      fresh.stage = stage;
      fresh.first_state = plan_.state_count;
      fresh.unit_tokens = rows.unit_tokens;
      fresh.row_elements = static_cast<std::uint32_t>(rows.elements());
      fresh.page_rows = traits.is_slot ? 0 : layout_.page_rows;
      for (std::uint32_t i = 0; i < rows.strip_count(); ++i) {
        add_strip(fresh.strips,
                  static_cast<std::uint32_t>(rows.strips[i].elements),
                  rows.strips[i].format,
                  fresh.page_rows);
      }
      fresh.window_rows = rows.window_rows;
      fresh.ring_rows = rows.ring_rows;
      fresh.pool = rows.pool;
      fresh.key_width = rows.key_width;
    }
    HOLDFAST_ASSERT(index < plan_.class_count);
    ClassPlan& known = plan_.classes[index];
    HOLDFAST_ASSERT(known.stage == stage);
    HOLDFAST_ASSERT(known.traits->is_slot == traits.is_slot);
    entry_of(rows.kind) = {.class_plus_one = static_cast<std::uint8_t>(index + 1),
                           .index = known.layer_count};
    ++known.layer_count;
    return {};
  }

  /// Sizes of one class.
  Status size(ClassPlan& known) noexcept {
    Capacity const& capacity = layout_.capacity;
    HOLDFAST_ASSERT(known.traits != nullptr);
    HOLDFAST_ASSERT(known.pages == 0);  // once
    CheckedProduct product;
    if (!known.traits->is_slot) {
      known.page_bytes = product(known.strips.layer_bytes, known.layer_count);
    }
    auto const [entries, pages, copies] = known.traits->size(known, capacity);
    known.entries = entries;
    copies_ += copies;
    if (product.overflowed() || pages + 1 > kLargestSize) {
      return refuse(-1,
                    name_of(known.kind),
                    "needs more pages or slots than a 24-bit index names",
                    static_cast<std::int64_t>(pages),
                    kLargestSize);
    }
    StagePlan& stage = plan_.stage_plans[known.stage];
    known.arena_offset = stage.arena_bytes;  // the tables of all classes come before it
    known.table_offset = plan_.record_bytes() + plan_.row_map_bytes() + stage.table_bytes;
    stage.arena_bytes += align_bytes(product(pages + 1, known.page_bytes));
    known.stash_offset = stage.arena_bytes;
    stage.arena_bytes +=
        align_bytes(product(product(std::max(1U, capacity.largest_round), known.stash_row_bytes),
                            plan_.sequence_limit));
    stage.table_bytes +=
        align_bytes(std::uint64_t{plan_.sequence_limit} * known.entries * sizeof(std::uint32_t));
    // Sixteen classes of at most 2^62 bytes each stay inside 64 bits only when every sum is looked
    // at.
    if (product.overflowed() || stage.arena_bytes + stage.table_bytes > (std::uint64_t{1} << 62U)) {
      return refuse(-1, name_of(known.kind), "needs an arena whose size in bytes overflows");
    }
    known.pages = static_cast<std::uint32_t>(pages) + 1;
    HOLDFAST_ASSERT(known.arena_offset % kArenaAlignment == 0);
    HOLDFAST_ASSERT(!known.traits->is_slot || known.entries == 0);
    return {};
  }

  /// What one call over all sequences can need. A begin copies what the classes say, and the state or
  /// parts of it; mutants copy up to three parts of every layer.
  Status size_steps() noexcept {
    std::uint64_t const copies = 3 * std::uint64_t{plan_.state_count} + copies_;
    std::uint64_t patches = 0;
    std::uint64_t const holders = std::uint64_t{plan_.sequence_limit} + plan_.snapshot_limit;
    for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
      ClassPlan const& known = plan_.classes[index];
      patches += std::uint64_t{known.entries} + 1;
      std::uint64_t const chunks = holders * ceil_div(known.entries, layout_.chunk_pages);
      if (chunks >= kLargestSize) {
        return refuse(-1,
                      "chunk_pages",
                      "makes more chunks than a 24-bit index names",
                      static_cast<std::int64_t>(chunks),
                      kLargestSize);
      }
    }
    HOLDFAST_ASSERT(plan_.class_count != 0);
    std::uint64_t const sequences = plan_.sequence_limit - 1;
    if (std::max(patches, copies) * sequences > kLargestSize) {
      return refuse(-1,
                    "capacity",
                    "needs more table entries than a step can rewrite",
                    static_cast<std::int64_t>(std::max(patches, copies) * sequences),
                    kLargestSize);
    }
    plan_.step_copies = static_cast<std::uint32_t>(copies * sequences);
    plan_.step_patches = static_cast<std::uint32_t>(patches * sequences);
    return {};
  }

  static Error out_of_memory() noexcept {
    return Error{.code = ErrorCode::kOutOfMemory,
                 .text = "the host has no memory for the plan",
                 .subject = "layers"};
  }

  Layout const& layout_;
  Plan& plan_;
  std::uint32_t layer_ = 0;
  std::uint32_t recurrent_count_ = 0;  // recurrent layers so far
  std::uint64_t copies_ = 0;           // of one begin in all classes so far
  std::array<std::uint32_t, kLargestClassCount> shapes_{};
};

}  // namespace

ClassPlan const* Plan::class_of(LayerEntry const& entry,
                                std::uint32_t* index,
                                std::uint32_t* class_index) const noexcept {
  if (entry.class_plus_one == 0) {
    return nullptr;
  }
  HOLDFAST_ASSERT(entry.class_plus_one <= class_count);
  HOLDFAST_ASSERT(entry.index < classes[entry.class_plus_one - 1U].layer_count);
  *index = entry.index;
  *class_index = entry.class_plus_one - 1U;
  return &classes[*class_index];
}

ClassPlan const* Plan::find(PlaneKind kind,
                            std::uint32_t layer,
                            std::uint32_t* index,
                            std::uint32_t* class_index) const noexcept {
  auto const kind_index = static_cast<std::uint32_t>(kind);
  if (layer >= layer_count || kind_index >= kPlaneKindCount) {
    return nullptr;
  }
  return class_of(entries[std::uint64_t{layer} * kPlaneKindCount + kind_index], index, class_index);
}

ClassPlan const* Plan::find_state(StatePart part,
                                  std::uint32_t layer,
                                  std::uint32_t* index,
                                  std::uint32_t* class_index) const noexcept {
  if (layer >= layer_count) {
    return nullptr;
  }
  return class_of(
      state_entries[std::uint64_t{layer} * kStatePartCount + static_cast<std::uint32_t>(part)],
      index,
      class_index);
}

ClassPlan const* Plan::find_derived(std::uint32_t layer,
                                    std::uint32_t* index,
                                    std::uint32_t* class_index) const noexcept {
  for (std::uint32_t kind = 0; kind < kPlaneKindCount; ++kind) {
    ClassPlan const* const known = find(static_cast<PlaneKind>(kind), layer, index, class_index);
    if (known != nullptr && known->derived) {
      return known;
    }
  }
  return nullptr;
}

StepLimits step_limits(Plan const& plan) noexcept {
  HOLDFAST_ASSERT(plan.sequence_limit > 1);
  HOLDFAST_ASSERT(plan.class_count != 0);
  std::uint32_t const sequences = plan.sequence_limit - 1;
  return {.planes = plan.class_count,
          .copies = plan.step_copies,
          .patches = plan.step_patches,
          .columns = std::max(1U, plan.largest_round) * sequences,
          .mirrors = sequences,
          .runs = plan.step_items};
}

Status make_plan(Layout const& layout, Plan& plan) noexcept {
  HOLDFAST_ASSERT(plan.class_count == 0);
  HOLDFAST_TRY(check_layout(layout));
  Capacity const& capacity = layout.capacity;
  plan.sequence_limit = capacity.sequences + 1;
  plan.first_entry = capacity.snapshots + 1;
  plan.snapshot_limit = plan.first_entry + capacity.entries;
  plan.tokens = capacity.tokens;
  plan.largest_round = capacity.largest_round;
  plan.page_rows = layout.page_rows;
  plan.chunk_pages = layout.chunk_pages;
  plan.ranks = layout.ranks;
  plan.stages = layout.stages;
  std::uint64_t const columns = std::max(1U, capacity.largest_round);
  std::uint64_t const step_rows =
      capacity.step_rows != 0 ? capacity.step_rows : capacity.tokens + capacity.sequences * columns;
  if (step_rows > UINT32_MAX) {
    return refuse(-1, "capacity.step_rows", "must be given: its default is too large");
  }
  plan.step_rows = static_cast<std::uint32_t>(step_rows);
  plan.step_items = 2 * capacity.sequences + 2;  // as many runs of padding as sequences
  plan.step_records = 2 * capacity.sequences;
  plan.mirror_bytes = sizeof(SequenceMirror) + (columns - 1) * sizeof(std::uint32_t);
  return Planner{layout, plan}.run();
}

}  // namespace holdfast::internal::storage

namespace holdfast {

Status validate(Layout const& layout) noexcept {
  internal::storage::Plan plan;
  return internal::storage::make_plan(layout, plan);
}

Result<BytesNeeded> bytes_needed(Layout const& layout) noexcept {
  internal::storage::Plan plan;
  HOLDFAST_TRY(internal::storage::make_plan(layout, plan));
  BytesNeeded bytes{
      .pinned = internal::storage::StepWork::block_bytes(internal::storage::step_limits(plan))};
  for (std::uint32_t stage = 0; stage < plan.stages; ++stage) {
    bytes.device = std::max(bytes.device, plan.device_bytes(stage));
    bytes.devices += plan.ranks * plan.device_bytes(stage);
  }
  for (std::uint32_t index = 0; index < plan.class_count; ++index) {
    bool const is_slot = plan.classes[index].page_rows == 0;
    std::uint32_t const ranks = HOLDFAST_MUTANT(kPageOfOneRank) && !is_slot ? 1 : plan.ranks;
    (is_slot ? bytes.per_slot : bytes.per_page) += ranks * plan.classes[index].page_bytes;
  }
  return bytes;
}

Result<std::uint64_t> entry_bytes(Layout const& layout, std::uint32_t tokens) noexcept {
  internal::storage::Plan plan;
  HOLDFAST_TRY(internal::storage::make_plan(layout, plan));
  if (tokens > plan.tokens) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .text = "are more than the layout's capacity",
                 .subject = "tokens",
                 .got = tokens,
                 .limit = plan.tokens};
  }
  std::uint64_t bytes = 0;
  for (std::uint32_t index = 0; index < plan.class_count; ++index) {
    internal::storage::ClassPlan const& known = plan.classes[index];
    HOLDFAST_ASSERT(known.traits != nullptr);
    internal::storage::EntryShape const shape = known.traits->entry_shape(known, tokens);
    // What ranks do not split is the same on all of them: an entry has it once.
    std::uint32_t const shares =
        HOLDFAST_MUTANT(kEntryOfEveryRank) ? plan.ranks : known.shares(plan.ranks);
    bytes += shares * shape.row_bytes * shape.rows;
  }
  return bytes;
}

}  // namespace holdfast
