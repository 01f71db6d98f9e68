// SPDX-License-Identifier: Apache-2.0
// Validation of layouts and the plan that is derived from them.
#include "storage/plan.hpp"

#include <algorithm>
#include <numeric>

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
  return Error{.code = ErrorCode::kInvalidArgument,
               .text = text,
               .subject = field,
               .layer = static_cast<std::int32_t>(layer),
               .got = got,
               .limit = limit};
}

Status check_size(std::int64_t layer, char const* field, std::uint32_t value) {
  if (value == 0) {
    return refuse(layer, field, "must not be 0");
  }
  if (value > kLargestSize) {
    return refuse(layer, field, "is larger than any size may be", value, kLargestSize);
  }
  return {};
}

Status check_divides(std::int64_t layer,
                     char const* field,
                     std::uint32_t value,
                     std::uint32_t ranks) {
  if (value % ranks != 0) {
    return refuse(layer, field, "does not divide over the ranks", value, ranks);
  }
  return {};
}

/// Checks one plane's fields against the layout; one overload a spec.
struct SpecChecker {
  Layout const& layout;
  std::int64_t layer;

  Status operator()(AttentionKvSpec const& spec) const {
    HOLDFAST_TRY(check_size(layer, "attention_kv.heads", spec.heads));
    HOLDFAST_TRY(check_size(layer, "attention_kv.head_dim", spec.head_dim));
    HOLDFAST_TRY(check_format("attention_kv.format", spec.format));
    return check_divides(layer, "attention_kv.heads", spec.heads, layout.ranks);
  }
  Status operator()(LatentSpec const& spec) const {
    HOLDFAST_TRY(check_format("latent.format", spec.format));
    return check_size(layer, "latent.width", spec.width);
  }
  Status operator()(IndexerSpec const& spec) const {
    HOLDFAST_TRY(check_size(layer, "indexer.index_width", spec.index_width));
    HOLDFAST_TRY(check_size(layer, "indexer.pool", spec.pool));
    HOLDFAST_TRY(check_size(layer, "indexer.key_width", spec.key_width));
    HOLDFAST_TRY(check_size(layer, "indexer.ring_rows", spec.ring_rows));
    if (spec.pool == 1) {
      return Error{.code = ErrorCode::kUnsupported,
                   .text = "a pool of 1, where the row is the key, is not built yet",
                   .subject = "indexer.pool",
                   .layer = static_cast<std::int32_t>(layer)};
    }
    if (spec.index_width != 2 * spec.key_width) {
      return refuse(layer,
                    "indexer.index_width",
                    "is not twice key_width, as [value | gate] rows are",
                    spec.index_width,
                    2 * std::int64_t{spec.key_width});
    }
    if (layout.page_rows % spec.pool != 0) {
      return refuse(
          layer, "page_rows", "is not a multiple of the pool", layout.page_rows, spec.pool);
    }
    if (spec.ring_rows % layout.page_rows != 0) {
      return refuse(layer,
                    "indexer.ring_rows",
                    "is not a multiple of page_rows",
                    spec.ring_rows,
                    layout.page_rows);
    }
    std::uint32_t const least = spec.pool - 1 + std::max(1U, layout.capacity.largest_round);
    if (spec.ring_rows < least) {
      return refuse(layer,
                    "indexer.ring_rows",
                    "is less than pool - 1 + the largest round",
                    spec.ring_rows,
                    least);
    }
    return {};
  }
  Status operator()(RecurrentSpec const& spec) const {
    bool const has_conv = spec.kernel != 0 || !spec.conv_segments.empty();
    bool const has_ssm = spec.heads != 0 || spec.d_k != 0 || spec.d_v != 0;
    if (!has_conv && !has_ssm) {
      return refuse(layer, "recurrent", "has neither a conv window nor an ssm state");
    }
    if (has_conv) {
      if (spec.kernel < 2) {
        return refuse(layer,
                      "recurrent.kernel",
                      "must be at least 2, for a window of kernel - 1 inputs",
                      spec.kernel,
                      2);
      }
      HOLDFAST_TRY(check_size(layer, "recurrent.kernel", spec.kernel));
      if (spec.conv_segments.empty()) {
        return refuse(layer, "recurrent.conv_segments", "must not be empty when there is a kernel");
      }
      for (std::uint32_t const segment : spec.conv_segments) {
        HOLDFAST_TRY(check_size(layer, "recurrent.conv_segments", segment));
        HOLDFAST_TRY(check_divides(layer, "recurrent.conv_segments", segment, layout.ranks));
      }
    }
    if (has_ssm) {
      HOLDFAST_TRY(check_size(layer, "recurrent.heads", spec.heads));
      HOLDFAST_TRY(check_size(layer, "recurrent.d_k", spec.d_k));
      HOLDFAST_TRY(check_size(layer, "recurrent.d_v", spec.d_v));
      return check_divides(layer, "recurrent.heads", spec.heads, layout.ranks);
    }
    return {};
  }

  Status check_format(char const* field, Format format) const {
    if (format != Format::kF32) {
      return refuse(layer, field, "is not a known format", static_cast<std::int64_t>(format));
    }
    return {};
  }
};

Status check_layout(Layout const& layout) {
  Capacity const& capacity = layout.capacity;
  if (layout.layers.empty()) {
    return refuse(-1, "layers", "must not be empty");
  }
  HOLDFAST_TRY(check_size(
      -1,
      "layers",
      static_cast<std::uint32_t>(std::min<std::size_t>(layout.layers.size(), UINT32_MAX))));
  HOLDFAST_TRY(check_size(-1, "page_rows", layout.page_rows));
  HOLDFAST_TRY(check_size(-1, "chunk_pages", layout.chunk_pages));
  HOLDFAST_TRY(check_size(-1, "ranks", layout.ranks));
  HOLDFAST_TRY(check_size(-1, "capacity.sequences", capacity.sequences));
  HOLDFAST_TRY(check_size(-1, "capacity.tokens", capacity.tokens));
  std::pair<char const*, std::uint32_t> const optional[] = {
      {"capacity.step_rows", capacity.step_rows},
      {"capacity.largest_round", capacity.largest_round},
      {"capacity.snapshots", capacity.snapshots},
      {"capacity.slots", capacity.slots},
      {"capacity.pages", capacity.pages},
      {"capacity.ring_pages", capacity.ring_pages}};
  for (auto const& [field, value] : optional) {
    if (value != 0) {
      HOLDFAST_TRY(check_size(-1, field, value));
    }
  }
  bool has_plane = false;
  for (std::size_t layer = 0; layer < layout.layers.size(); ++layer) {
    auto const& planes = layout.layers[layer].planes;
    for (std::size_t plane = 0; plane < planes.size(); ++plane) {
      has_plane = true;
      if (planes[plane].valueless_by_exception()) {
        return refuse(static_cast<std::int64_t>(layer), "planes", "holds a plane of no kind");
      }
      for (std::size_t other = 0; other < plane; ++other) {
        if (planes[other].index() == planes[plane].index()) {
          return refuse(static_cast<std::int64_t>(layer), "planes", "holds two planes of one kind");
        }
      }
      HOLDFAST_TRY(
          std::visit(SpecChecker{layout, static_cast<std::int64_t>(layer)}, planes[plane]));
    }
  }
  if (!has_plane) {
    return refuse(-1, "layers", "own no plane at all");
  }
  if (layout.ranks > 1) {
    return Error{.code = ErrorCode::kUnsupported,
                 .text = "the layout is valid, but ranks above 1 are not built yet",
                 .subject = "ranks",
                 .got = layout.ranks,
                 .limit = 1};
  }
  return {};
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
    HOLDFAST_TRY(collect());
    for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
      HOLDFAST_TRY(size(plan_.classes[index]));
    }
    return size_steps();
  }

 private:
  /// Pass 0 counts the layers of each class, pass 1 lists them.
  Status collect() noexcept {
    auto const layer_count = static_cast<std::uint32_t>(layout_.layers.size());
    plan_.layer_count = layer_count;
    if (!plan_.entries.create(std::uint64_t{layer_count} * kPlaneKindCount) ||
        !plan_.layer_ids.create(std::uint64_t{layer_count} * kPlaneKindCount) ||
        !plan_.states.create(layer_count) || !plan_.state_views.create(layer_count)) {
      return out_of_memory();
    }
    // Classes are ordered by kind, so that every derived plane follows what it is derived from.
    for (std::uint32_t kind = 0; kind < kPlaneKindCount; ++kind) {
      for (layer_ = 0; layer_ < layer_count; ++layer_) {
        for (PlaneSpec const& spec : layout_.layers[layer_].planes) {
          HOLDFAST_TRY(std::visit(
              [&](auto const& known) { return add(known, static_cast<PlaneKind>(kind)); }, spec));
        }
      }
    }
    std::uint32_t first = 0;
    for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
      ClassPlan& known = plan_.classes[index];
      known.first_layer = first;
      first += known.layer_count;
      for (std::uint32_t layer = 0; layer < layer_count; ++layer) {
        LayerEntry const& entry = plan_.entries[std::uint64_t{layer} * kPlaneKindCount +
                                                static_cast<std::uint32_t>(known.kind)];
        if (entry.class_plus_one == index + 1) {
          plan_.layer_ids[known.first_layer + entry.index] = layer;
        }
      }
    }
    return {};
  }

  Status add(AttentionKvSpec const& spec, PlaneKind kind) noexcept {
    if (kind != PlaneKind::kAttentionKv) {
      return {};
    }
    std::uint64_t const part = std::uint64_t{spec.heads} * spec.head_dim;
    return join(
        kind,
        {.row_elements = 2 * part, .parts = 2, .unit_tokens = 1, .discriminator = spec.heads});
  }
  Status add(LatentSpec const& spec, PlaneKind kind) noexcept {
    return kind == PlaneKind::kLatent ? join(kind, {.row_elements = spec.width}) : Status{};
  }
  Status add(IndexerSpec const& spec, PlaneKind kind) noexcept {
    if (kind == PlaneKind::kPoolKeys) {
      return join(kind,
                  {.row_elements = spec.key_width,
                   .unit_tokens = spec.pool,
                   .discriminator = spec.ring_rows,
                   .pool = spec.pool,
                   .key_width = spec.key_width});
    }
    if (kind == PlaneKind::kTailRing) {
      return join(kind,
                  {.row_elements = spec.index_width,
                   .discriminator = spec.ring_rows,
                   .pool = spec.pool,
                   .key_width = spec.key_width,
                   .ring_rows = spec.ring_rows});
    }
    return {};
  }
  Status add(RecurrentSpec const& spec, PlaneKind kind) noexcept {
    if (kind != PlaneKind::kRecurrent) {
      return {};
    }
    HOLDFAST_TRY(join(kind, {}));
    CheckedProduct product;
    std::uint64_t const channels =
        std::accumulate(spec.conv_segments.begin(), spec.conv_segments.end(), std::uint64_t{0});
    std::uint32_t const window = channels == 0 ? 0 : spec.kernel - 1;
    std::uint64_t const conv = product(channels, window);
    std::uint64_t const ssm = product(product(spec.heads, spec.d_k), spec.d_v);
    if (product.overflowed() || channels > UINT32_MAX || conv > UINT32_MAX || ssm > UINT32_MAX) {
      return refuse(layer_, "recurrent", "has a state of more elements than 32 bits count");
    }
    ClassPlan& slots = plan_.classes[plan_.class_count - 1];
    StateInfo& state = plan_.states[plan_.state_count];
    StateView& view = plan_.state_views[plan_.state_count++];
    state = {.layer = layer_,
             .conv_offset = slots.page_bytes,
             .conv_elements = static_cast<std::uint32_t>(conv),
             .ssm_offset = slots.page_bytes + conv * kF32Bytes,
             .ssm_elements = static_cast<std::uint32_t>(ssm)};
    view.conv_offset = state.conv_offset;
    view.ssm_offset = state.ssm_offset;
    view.conv_dim = static_cast<std::uint32_t>(channels);
    view.window = window;
    view.heads = spec.heads;
    view.d_k = spec.d_k;
    view.d_v = spec.d_v;
    slots.page_bytes += (conv + ssm) * kF32Bytes;
    return {};
  }

  struct Shape {
    std::uint64_t row_elements = 0;
    std::uint32_t parts = 1;
    std::uint32_t unit_tokens = 1;
    std::uint32_t discriminator = 0;  // keeps shapes of equal width apart
    std::uint32_t pool = 0;
    std::uint32_t key_width = 0;
    std::uint32_t ring_rows = 0;
  };

  Status join(PlaneKind kind, Shape const& shape) noexcept {
    if (shape.row_elements > kLargestSize) {
      return refuse(layer_,
                    name_of(kind),
                    "has a row of more elements than any size may be",
                    static_cast<std::int64_t>(shape.row_elements),
                    kLargestSize);
    }
    std::uint32_t index = 0;
    for (; index < plan_.class_count; ++index) {
      ClassPlan const& known = plan_.classes[index];
      if (known.kind == kind && known.row_elements == shape.row_elements &&
          known.pool == shape.pool && discriminators_[index] == shape.discriminator) {
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
      discriminators_[index] = shape.discriminator;
      ClassPlan& fresh = plan_.classes[plan_.class_count++];
      fresh = {};
      fresh.kind = kind;
      fresh.unit_tokens = shape.unit_tokens;
      fresh.row_elements = static_cast<std::uint32_t>(shape.row_elements);
      fresh.parts = shape.parts;
      fresh.row_bytes = fresh.row_elements / shape.parts * kF32Bytes;
      fresh.ring_rows = shape.ring_rows;
      fresh.pool = shape.pool;
      fresh.key_width = shape.key_width;
    }
    ClassPlan& known = plan_.classes[index];
    plan_.entries[std::uint64_t{layer_} * kPlaneKindCount + static_cast<std::uint32_t>(kind)] = {
        .class_plus_one = static_cast<std::uint8_t>(index + 1), .index = known.layer_count};
    ++known.layer_count;
    return {};
  }

  /// Sizes of one class. Worst case: every sequence full, every snapshot holding pages of its own.
  Status size(ClassPlan& known) noexcept {
    Capacity const& capacity = layout_.capacity;
    CheckedProduct product;
    std::uint64_t const holders = std::uint64_t{capacity.sequences} + capacity.snapshots;
    std::uint64_t pages = 0;
    if (known.kind == PlaneKind::kRecurrent) {
      pages = capacity.slots != 0
                  ? capacity.slots
                  : holders + product(capacity.sequences, std::max(1U, capacity.largest_round));
    } else {
      known.page_rows = layout_.page_rows;
      known.strip_bytes = product(known.page_rows, known.row_bytes);
      known.page_bytes = product(known.strip_bytes, std::uint64_t{known.layer_count} * known.parts);
      if (known.kind == PlaneKind::kTailRing) {
        known.entries = known.ring_rows / known.page_rows;
        pages = capacity.ring_pages != 0
                    ? capacity.ring_pages
                    : product(capacity.sequences, std::uint64_t{known.entries} + 1) +
                          capacity.snapshots;
      } else {
        known.entries = ceil_div(capacity.tokens / known.unit_tokens, known.page_rows);
        pages =
            capacity.pages != 0 ? capacity.pages : product(holders, std::uint64_t{known.entries});
      }
    }
    if (product.overflowed() || pages + 1 > kLargestSize) {
      return refuse(-1,
                    name_of(known.kind),
                    "needs more pages or slots than a 24-bit index names",
                    static_cast<std::int64_t>(pages),
                    kLargestSize);
    }
    plan_.arena_bytes += align_bytes(product(pages + 1, known.page_bytes));
    plan_.table_bytes +=
        align_bytes(std::uint64_t{plan_.sequence_limit} * known.entries * sizeof(std::uint32_t));
    // Sixteen classes of at most 2^62 bytes each stay inside 64 bits only when every sum is looked
    // at.
    if (product.overflowed() || plan_.arena_bytes + plan_.table_bytes > (std::uint64_t{1} << 62U)) {
      return refuse(-1, name_of(known.kind), "needs an arena whose size in bytes overflows");
    }
    known.pages = static_cast<std::uint32_t>(pages) + 1;
    return {};
  }

  /// What one call over all sequences can need. A begin copies one page of an addressed class and
  /// two runs of each page of a ring; a mutant copies the conv part of every layer.
  Status size_steps() noexcept {
    std::uint64_t copies = plan_.state_count;
    std::uint64_t patches = 0;
    std::uint64_t const holders = std::uint64_t{plan_.sequence_limit} + plan_.snapshot_limit;
    for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
      ClassPlan const& known = plan_.classes[index];
      copies += known.kind == PlaneKind::kTailRing ? 2 * std::uint64_t{known.entries} : 1;
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
  std::array<std::uint32_t, kLargestClassCount> discriminators_{};
};

}  // namespace

ClassPlan const* Plan::find(PlaneKind kind,
                            std::uint32_t layer,
                            std::uint32_t* index,
                            std::uint32_t* class_index) const noexcept {
  auto const kind_index = static_cast<std::uint32_t>(kind);
  if (layer >= layer_count || kind_index >= kPlaneKindCount) {
    return nullptr;
  }
  LayerEntry const& entry = entries[std::uint64_t{layer} * kPlaneKindCount + kind_index];
  if (entry.class_plus_one == 0) {
    return nullptr;
  }
  *index = entry.index;
  *class_index = entry.class_plus_one - 1U;
  return &classes[*class_index];
}

StepLimits step_limits(Plan const& plan) noexcept {
  std::uint32_t const sequences = plan.sequence_limit - 1;
  return {.planes = plan.class_count,
          .copies = plan.step_copies,
          .patches = plan.step_patches,
          .columns = std::max(1U, plan.largest_round) * sequences,
          .mirrors = sequences,
          .runs = plan.step_items};
}

Status make_plan(Layout const& layout, Plan& plan) noexcept {
  HOLDFAST_TRY(check_layout(layout));
  Capacity const& capacity = layout.capacity;
  plan.sequence_limit = capacity.sequences + 1;
  plan.snapshot_limit = capacity.snapshots + 1;
  plan.tokens = capacity.tokens;
  plan.largest_round = capacity.largest_round;
  plan.chunk_pages = layout.chunk_pages;
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

char const* name_of(PlaneKind kind) noexcept {
  switch (kind) {
    case PlaneKind::kAttentionKv:
      return "attention_kv";
    case PlaneKind::kLatent:
      return "latent";
    case PlaneKind::kPoolKeys:
      return "pool_keys";
    case PlaneKind::kTailRing:
      return "tail_ring";
    case PlaneKind::kRecurrent:
      return "recurrent";
  }
  return "unknown";
}

Status validate(Layout const& layout) noexcept {
  internal::storage::Plan plan;
  return internal::storage::make_plan(layout, plan);
}

Result<BytesNeeded> bytes_needed(Layout const& layout) noexcept {
  internal::storage::Plan plan;
  HOLDFAST_TRY(internal::storage::make_plan(layout, plan));
  BytesNeeded bytes{
      .device = plan.device_bytes(),
      .pinned = internal::storage::StepWork::block_bytes(internal::storage::step_limits(plan))};
  for (std::uint32_t index = 0; index < plan.class_count; ++index) {
    bool const is_slot = plan.classes[index].page_rows == 0;
    (is_slot ? bytes.per_slot : bytes.per_page) += plan.classes[index].page_bytes;
  }
  return bytes;
}

}  // namespace holdfast
