// SPDX-License-Identifier: Apache-2.0
// The boundary sets and the search, breadth first.
#include "fuzz/exhaustive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include "models/trace.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::Model;
using model::ModelShape;
using model::StateMode;

using Program = std::vector<AnyOp>;

/// A sequence with appends of so many rows.
std::string one_sequence(std::initializer_list<std::uint32_t> appends) {
  std::string lines = "create sequence=s0\n";
  std::uint32_t token = 1;
  for (std::uint32_t const rows : appends) {
    lines += fmt::format("append sequence=s0 rows={} token={} piece=0 view=0\n", rows, token);
    token += rows;
  }
  return lines;
}

Program program_of(std::string const& lines) {
  return model::parse_ops(lines, "start state");
}

Program make_empty(ModelShape const& /*shape*/) {
  return program_of(one_sequence({}));
}

Program make_open_pool(ModelShape const& shape) {
  return program_of(one_sequence({shape.page_rows + shape.page_rows / 2}));
}

Program make_wrapped_ring(ModelShape const& shape) {
  return program_of(one_sequence({model::SmallScope::kept_rows(shape) - 1, 3}));
}

std::string shared_chunk(ModelShape const& shape) {
  std::uint32_t const first = 2 * shape.page_rows + 1;
  return one_sequence({first}) + "snapshot sequence=s0 snapshot=h0\n" +
         fmt::format("append sequence=s0 rows=2 token={} piece=0 view=0\n", 1 + first);
}

Program make_shared_chunk(ModelShape const& shape) {
  return program_of(shared_chunk(shape));
}

Program make_two_snapshots(ModelShape const& shape) {
  return program_of(shared_chunk(shape) + "snapshot sequence=s0 snapshot=h1\n");
}

Program make_entry(ModelShape const& shape) {
  return program_of(shared_chunk(shape) +
                    "capture snapshot=h0 entry=e0 scope=0 extra=0\ndrop_snapshot snapshot=h0\n");
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

std::vector<AnyOp> next_operations(Model const& model, StateMode mode, bool is_first) {
  model::SmallScope const scope{model, mode, is_first};
  std::vector<AnyOp> ops;
  auto const add = [&](auto const& op) {
    if (op.precondition(model)) {
      ops.emplace_back(op);
    }
  };
  [&]<std::uint32_t... I>(std::integer_sequence<std::uint32_t, I...>) {
    (std::variant_alternative_t<I, AnyOp>::choices(scope, add), ...);
  }
  (std::make_integer_sequence<std::uint32_t, model::AllOps::kCount>{});
  return ops;
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
