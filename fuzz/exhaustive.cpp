// SPDX-License-Identifier: Apache-2.0
// The boundary sets and the search, breadth first.
#include "fuzz/exhaustive.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::EntryName;
using model::Model;
using model::ModelShape;
using model::SequenceName;
using model::SnapshotName;
using model::StateMode;

using Program = std::vector<AnyOp>;

constexpr SequenceName kFirst{0};
constexpr std::uint32_t kMostSequences = 2;  // live at once
constexpr std::uint32_t kMostSnapshots = 2;  // live at once
constexpr std::uint32_t kRoundRows = 2;
constexpr std::uint32_t kPayloadBit = 400;  // a byte behind the header of every geometry's entry

/// Rows that stay of a windowed plane; of a layout without one, what the geometries usually have.
std::uint32_t kept_rows(ModelShape const& shape) {
  return shape.windows.empty() ? 3 * shape.page_rows : shape.windows.front().plane.kept_rows;
}

AnyOp append(std::uint32_t rows, std::uint32_t token) {
  return model::AppendOp{kFirst, rows, token, 0, 0};
}

Program make_empty(ModelShape const& /*shape*/) {
  return {model::CreateOp{kFirst}};
}

Program make_open_pool(ModelShape const& shape) {
  return {model::CreateOp{kFirst}, append(shape.page_rows + shape.page_rows / 2, 1)};
}

Program make_wrapped_ring(ModelShape const& shape) {
  std::uint32_t const first = kept_rows(shape) - 1;
  return {model::CreateOp{kFirst}, append(first, 1), append(3, 1 + first)};
}

Program make_shared_chunk(ModelShape const& shape) {
  std::uint32_t const first = 2 * shape.page_rows + 1;
  return {model::CreateOp{kFirst},
          append(first, 1),
          model::SnapshotOp{kFirst, SnapshotName{0}},
          append(2, 1 + first)};
}

Program make_two_snapshots(ModelShape const& shape) {
  Program program = make_shared_chunk(shape);
  program.emplace_back(model::SnapshotOp{kFirst, SnapshotName{1}});
  return program;
}

Program make_entry(ModelShape const& shape) {
  Program program = make_shared_chunk(shape);
  program.emplace_back(model::CaptureOp{SnapshotName{0}, EntryName{0}});
  program.emplace_back(model::DropSnapshotOp{SnapshotName{0}});
  return program;
}

constexpr StartState kStartStates[] = {
    {"empty", "one sequence without rows", &make_empty},
    {"open_pool", "one sequence in the middle of its second page and pool", &make_open_pool},
    {"wrapped_ring", "one sequence of R + 2 rows", &make_wrapped_ring},
    {"shared_chunk",
     "one sequence in its second chunk, the first chunk held by a snapshot as well",
     &make_shared_chunk},
    {"two_snapshots",
     "the same with a second snapshot two rows further on, in the same page",
     &make_two_snapshots},
    {"entry",
     "the same as shared_chunk, with a prefix entry in place of the snapshot",
     &make_entry},
    {"in_place",
     "one sequence in the middle of its second page and pool, all its handles in place",
     &make_open_pool,
     model::StateMode::kInPlace},
    {"rescan",
     "one sequence in the middle of its second page and pool, all its rounds rescanned",
     &make_open_pool,
     model::StateMode::kRescan},
};

/// Only rounds are rescanned.
StateMode mode_of_appends(StateMode mode) {
  return mode == StateMode::kRescan ? StateMode::kFresh : mode;
}

/// Collects the operations of one state.
class Collector {
 public:
  Collector(Model const& model, StateMode mode)
      : model_{model}, shape_{model.shape()}, mode_{mode} {}

  void add_open(SequenceName name) {
    add(model::TruncateOp{name, 0});  // busy
    if (!model_.sequence(name).open.round) {
      add(model::CommitOp{name});
      add(model::DropOp{name});
      return;
    }
    std::uint32_t const rows = model_.sequence(name).open.rows;
    for (std::uint32_t keep = 0; keep <= kRoundRows; ++keep) {
      add(model::AcceptOp{name, keep});
    }
    if (rows > kRoundRows) {
      add(model::AcceptOp{name, rows});
    }
    add(model::RewriteOp{name, 1, 1, model_.next_token(), 0, 0});
  }

  void add_at_rest(SequenceName name) {
    std::uint32_t const token = model_.next_token();
    std::uint32_t const own = model_.position(name);
    std::uint32_t const page = shape_.page_rows;
    StateMode const mode = mode_of_appends(mode_);
    add(model::AppendOp{name, 1, token, 0, 0, mode});
    if (model_.sequence(name).tainted) {
      return;  // the one refusal stands for all
    }
    add(model::AppendOp{name, page, token, 1, 0, mode});      // row by row
    add(model::AppendOp{name, page + 1, token, 0, 1, mode});  // through views
    std::uint32_t const lap = kept_rows(shape_) + 1;
    add(model::BeginOp{name, lap, lap, token, 0, 0, mode});
    add(model::BeginOp{name, page, 1, token, 0, 1, mode});  // a view that is not used to the end
    if (shape_.has_draft()) {
      add(model::AppendOp{name, 1, token, 0, 0, mode, 1});  // the draft is left out
    }
    std::uint32_t const most = shape_.capacity.largest_round;
    add(model::VerifyOp{name, kRoundRows, kRoundRows, token, 0, 0, mode_});
    add(model::VerifyOp{name, most, most, token, 0, 0, mode_});
    // To one row less, to the edge below of page and pool, and into the pool before that.
    std::vector<std::uint32_t> lengths;
    for (std::uint32_t const less : {1U, (own + page - 1) % page + 1, page + 1}) {
      std::uint32_t const length = own - std::min(own, less);
      if (length != own && std::find(lengths.begin(), lengths.end(), length) == lengths.end()) {
        lengths.push_back(length);
        add(model::TruncateOp{name, length});
      }
    }
    if (model_.live_snapshots().size() < kMostSnapshots) {
      add(model::SnapshotOp{name, SnapshotName{model_.next_snapshot()}});
    }
    for (std::uint32_t const snapshot : model_.live_snapshots()) {
      add(model::RollbackOp{name, SnapshotName{snapshot}});
    }
  }

  void add_others() {
    bool const has_room = model_.live_sequences().size() < kMostSequences;
    for (std::uint32_t const value : model_.live_snapshots()) {
      if (has_room) {
        add(model::ForkOp{SnapshotName{value}, SequenceName{model_.next_sequence()}});
      }
      add(model::DropSnapshotOp{SnapshotName{value}});
    }
    // What is used up stays used up, whoever has its place now.
    for (std::uint32_t value = 0; value < model_.next_sequence(); ++value) {
      if (!model_.sequence({value}).live) {
        add(model::AppendOp{SequenceName{value}, 1, model_.next_token(), 0, 0});
      }
    }
    for (std::uint32_t value = 0; value < model_.next_snapshot(); ++value) {
      if (!model_.snapshot_of({value}).live) {
        add(model::DropSnapshotOp{SnapshotName{value}});
      }
    }
    if (has_room) {
      add(model::CreateOp{SequenceName{model_.next_sequence()}});
    }
  }

  /// Only where the start state has an entry: the other states stay as small as they are.
  void add_entries(bool is_first) {
    if (model_.next_entry() == 0) {
      return;
    }
    EntryName const entry{0};
    if (model_.live_sequences().size() < kMostSequences) {
      add_restores(entry, is_first ? 4 : 1);
    }
    add(model::EraseOp{entry});
    if (model_.entry(entry).live) {
      add(model::ReloadOp{entry});
    }
    for (std::uint32_t const value : model_.live_snapshots()) {
      if (model_.next_entry() == 1) {
        add(model::CaptureOp{SnapshotName{value}, EntryName{1}});
      }
    }
    for (std::uint32_t damage = 0; damage < model::kDamageCount && is_first; ++damage) {
      add(model::LoadDamagedOp{entry, static_cast<model::Damage>(damage), kPayloadBit});
    }
  }

  /// The first of: all of the entry; one row less; into the middle of a page and pool, then other
  /// tokens; under another scope.
  void add_restores(EntryName entry, std::uint32_t count) {
    auto const length = static_cast<std::uint32_t>(model_.entry(entry).history.tokens.size());
    std::uint32_t const middle = shape_.page_rows + shape_.page_rows / 2;
    model::PrefixQuery const queries[] = {
        {.first = length, .limit = length},
        {.first = length, .limit = length - 1},
        {.first = middle, .rest = length - middle, .limit = length},
        {.first = length, .scope = 1, .limit = length},
    };
    for (model::PrefixQuery query : std::span{queries}.first(count)) {
      query.entry = entry;
      query.token = model_.next_token();
      add(model::RestoreOp{query, SequenceName{model_.next_sequence()}});
    }
  }

  void add(AnyOp const& op) {
    if (std::visit([&](auto const& known) { return known.precondition(model_); }, op)) {
      ops_.push_back(op);
    }
  }

  Program take() { return std::move(ops_); }

 private:
  Model const& model_;
  ModelShape const& shape_;
  StateMode mode_;
  Program ops_;
};

/// One operation after the program that `parent` of the layer before stands for.
struct Node {
  std::uint32_t parent = 0;
  AnyOp op;
};
/// Layer i holds the last operations of the programs of i + 1 operations.
using Tree = std::vector<std::vector<Node>>;

/// Appends the program of a node of the last layer.
void append_path(Tree const& tree, std::uint32_t node, Program& program) {
  auto const first = static_cast<std::ptrdiff_t>(program.size());
  for (std::size_t layer = tree.size(); layer != 0; --layer) {
    program.push_back(tree[layer - 1][node].op);
    node = tree[layer - 1][node].parent;
  }
  std::reverse(program.begin() + first, program.end());
}

}  // namespace

std::span<StartState const> start_states() noexcept {
  return kStartStates;
}

/// Steps: one sequence with padding, written at once; two sequences, which finish, of which one
/// leaves, and which are cancelled; and one twice, which must be refused.
template <typename To>
void add_steps(Model const& model, StateMode mode, To& collector) {
  std::vector<SequenceName> at_rest;
  for (std::uint32_t const value : model.live_sequences()) {
    if (!model.sequence({value}).open.open && !model.sequence({value}).tainted) {
      at_rest.push_back({value});
    }
  }
  if (at_rest.empty()) {
    return;
  }
  model::Token const token = model.next_token();
  model::StepPart const append{.deed = model::StepDeed::kAppend,
                               .sequence = at_rest.front(),
                               .rows = 1,
                               .keep = 1,
                               .token = token,
                               .mode = mode_of_appends(mode)};
  model::StepPart second{.deed = model::StepDeed::kPad, .rows = 1};
  if (at_rest.size() > 1) {
    second = {.deed = model::StepDeed::kVerify,
              .sequence = at_rest[1],
              .rows = 2,
              .keep = 1,
              .token = token + 1,
              .mode = mode};
  }
  model::StepOp op;
  op.items = {.parts = {second, append}, .count = 2};
  op.whole = 1;
  collector.add(op);
  if (at_rest.size() > 1) {
    model::StepParts given_up = op.items;
    given_up.parts[0].keep = 0;
    collector.add(model::LeaveOp{.items = given_up});
    given_up.parts[1].keep = 0;
    collector.add(model::CancelOp{.items = given_up});
  }
  op.whole = 0;
  op.items.parts[0] = append;
  op.items.parts[0].token = token + 3;
  collector.add(op);
}

std::vector<AnyOp> next_operations(Model const& model, StateMode mode, bool is_first) {
  Collector collector{model, mode};
  for (std::uint32_t const value : model.live_sequences()) {
    SequenceName const name{value};
    if (model.sequence(name).open.open) {
      collector.add_open(name);
    } else {
      collector.add_at_rest(name);
    }
    collector.add(model::ReleaseOp{name});
  }
  collector.add_others();
  collector.add_entries(is_first);
  add_steps(model, mode, collector);
  return collector.take();
}

SearchResult search_exhaustively(model::Geometry const& geometry,
                                 StartState const& start,
                                 std::uint32_t depth,
                                 model::Coverage* coverage,
                                 GoOn const& go_on) {
  // The model that says what comes next is the runner's own, after the program's last operation.
  Runner* running = nullptr;
  std::uint32_t last = 0;
  std::uint32_t prefix_length = 0;
  Program next;
  std::function<void(model::Transition const&)> on_transition;
  if (coverage != nullptr) {
    on_transition =
        [&, reference = model::geometry_reference(geometry)](model::Transition const& transition) {
          coverage->note(transition, reference, running->ops());
        };
  }
  Runner runner{geometry,
                {.on_step =
                     [&](std::uint32_t index,
                         AnyOp const& /*op*/,
                         model::Observation const& /*want*/,
                         model::Observation const& /*got*/) {
                       if (index == last) {
                         next = next_operations(
                             running->model(), start.mode, index + 1 == prefix_length);
                       }
                     },
                 .on_transition = on_transition}};
  running = &runner;

  SearchResult result;
  Program const prefix = start.make(runner.model().shape());
  prefix_length = static_cast<std::uint32_t>(prefix.size());
  Tree tree;
  Program program;
  for (std::uint32_t length = 0; length <= depth; ++length) {
    bool const is_leaf = length == depth;
    std::vector<Node> following;
    std::uint32_t const nodes = length == 0 ? 1 : static_cast<std::uint32_t>(tree.back().size());
    for (std::uint32_t node = 0; node < nodes; ++node) {
      if (go_on && !go_on()) {
        return result;
      }
      program = prefix;
      append_path(tree, node, program);
      last = is_leaf ? UINT32_MAX : static_cast<std::uint32_t>(program.size() - 1);
      next.clear();
      ProgramResult const ran = runner.run_ops(program);
      result.operations += ran.counts.operations;
      if (length != 0) {
        ++result.programs;
        result.by_length.resize(length);
        ++result.by_length.back();
      }
      if (ran.failure) {
        result.failed = explain_failure(geometry, runner.ops(), true);
        return result;
      }
      for (AnyOp const& op : next) {
        following.push_back({node, op});
      }
    }
    tree.push_back(std::move(following));
  }
  return result;
}

std::string describe_failed(FailedProgram const& failed) {
  return model::print_trace(failed.trace) + describe_failure(failed.failure, failed.trace.ops) +
         "reproduce: put the trace above into FILE.trace, then: holdfast replay FILE.trace\n";
}

}  // namespace holdfast::fuzz
