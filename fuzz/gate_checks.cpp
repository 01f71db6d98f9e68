// SPDX-License-Identifier: Apache-2.0
#include "fuzz/gate_checks.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <span>
#include <utility>

#include "fuzz/canary.hpp"
#include "fuzz/codec.hpp"
#include "fuzz/exhaustive.hpp"
#include "fuzz/run.hpp"
#include "fuzz/verdict.hpp"

namespace holdfast::fuzz {
namespace {

/// What a program of given operations breaks; "" when it holds.
std::string failure_of(Runner& runner, std::span<model::AnyOp const> ops) {
  ProgramResult const result = runner.run_ops(ops);
  return result.failure ? describe_failure(*result.failure, runner.ops()) : "";
}

std::string trace_failure(GateTrace const& trace) {
  Runner runner{trace.geometry,
                {.keep_log = true, .deep_every = 1, .watch_one_in = 1, .device = trace.device}};
  std::string failure = failure_of(runner, trace.ops);
  if (failure.empty() && runner.ops().size() != trace.ops.size()) {
    failure = fmt::format("{} of {} operations could not run",
                          trace.ops.size() - runner.ops().size(),
                          trace.ops.size());
  }
  return failure;
}

std::string geometry_failure(std::string const& name, std::uint64_t seed) {
  try {
    model::Geometry const geometry = model::read_geometry(name);
    Generator const generator{geometry.mix};
    if (!geometry.lacks.empty() || geometry.full_size) {
      return {};
    }
    Runner runner{geometry, {.keep_log = true}};
    ProgramResult const result = runner.run_seed(seed);
    return result.failure ? describe_failure(*result.failure, runner.ops()) : "";
  } catch (std::exception const& error) {
    return error.what();
  }
}

/// What is lost when the program is written and read again.
std::string forms_failure(model::Trace const& program) {
  std::string const text = model::print_trace(program);
  if (model::print_trace(model::parse_trace(text, "text")) != text) {
    return "the text form reads back as another program:\n" + text;
  }
  if (model::print_trace(decode_program(encode_program(program))) != text) {
    return "the byte form reads back as another program:\n" + text;
  }
  return {};
}

std::string canary_failure(GateContext const& context, bool muted) {
  CanaryRunner canary{context.geometries.front(), muted};
  for (std::uint64_t index = 0; index < 2 * kCanaryPeriod; ++index) {
    if (is_canary_report(canary.run(context.seed, index)) != is_canary(index)) {
      return fmt::format("the failure of program {} was {}reported",
                         index,
                         is_canary(index) ? "not " : "never made, and ");
    }
  }
  return {};
}

std::string crash_failure(GateContext const& context, bool muted) {
  RunnerOptions const options{.on_step = [&](std::uint32_t, auto const&, auto const&, auto const&) {
    if (!muted) {
      std::abort();
    }
  }};
  constexpr unsigned kSeconds = 30;
  std::vector<model::AnyOp> const ops = {first_op()};
  Verdict const verdict = judge_in_child(context.geometries.front(), options, ops, kSeconds);
  return verdict.died ? "" : "a process that died was not noticed";
}

std::string difference_failure(GateContext const& context, bool muted) {
  Chains chains{context.geometries.front(), context.seed};
  Chain const one = chains.of(0);
  Chain other = one;
  std::size_t const at = one.size() / 2;
  for (std::size_t i = at; i < other.size() && !muted; ++i) {
    other[i] ^= 1U;
  }
  return first_difference(one, other) == at ? ""
                                            : "an answer that changed was not found where it did";
}

/// Compares two runs of each program; "" when they are the same.
std::string determinism_failure(model::Geometry const& geometry,
                                std::uint64_t seed,
                                std::uint32_t programs) {
  Chains forward{geometry, seed};
  std::vector<Chain> chains;
  for (std::uint32_t index = 0; index < programs; ++index) {
    chains.push_back(forward.of(index));
  }
  Chains backward{geometry, seed};
  for (std::uint32_t index = programs; index-- > 0;) {
    Chain const again = backward.of(index);
    if (auto const at = first_difference(chains[index], again)) {
      return fmt::format("program {} differs the second time, first at operation {}: {}",
                         index,
                         *at,
                         backward.operation(index, *at));
    }
  }
  return {};
}

std::string random_failure(FailedProgram const& failed) {
  std::string const what = failed.failure.violations.empty()
                               ? "failed once, and held when it was run again\n"
                               : describe_failure(failed.failure, failed.trace.ops);
  return fmt::format(
      "program {} (seed {}) of geometry {}\n{}", failed.index, failed.seed, failed.geometry, what);
}

}  // namespace

GatePart corpus_part(GateContext const& context, std::vector<GateTrace> traces) {
  return {"corpus", [context, traces = std::move(traces)](GateVoice& voice) {
            for (GateTrace const& trace : traces) {
              voice.begin(trace.path, context.command({"replay", trace.path}));
              voice.end(trace_failure(trace));
            }
          }};
}

GatePart geometry_part(GateContext const& context) {
  return {"geometries", [context](GateVoice& voice) {
            for (std::string const& name : model::built_in_geometry_names()) {
              voice.begin(name,
                          context.command({"run",
                                           "--geometry",
                                           name,
                                           "--seed",
                                           std::to_string(context.seed),
                                           "--ops",
                                           "1"}));
              voice.end(geometry_failure(name, program_seed(context.seed, 0)));
            }
          }};
}

GatePart forms_part(GateContext const& context, std::uint32_t programs) {
  return {"forms", [context, programs](GateVoice& voice) {
            for (model::Geometry const& geometry : context.geometries) {
              voice.begin(geometry.name,
                          context.command(
                              {"gate", "--only", "forms", "--seed", std::to_string(context.seed)}));
              std::string failure;
              Runner runner{geometry, {}};
              for (std::uint32_t index = 0; index < programs && failure.empty(); ++index) {
                static_cast<void>(runner.run_seed(program_seed(context.seed, index)));
                failure = forms_failure(
                    {.geometry = model::geometry_reference(geometry), .ops = runner.ops()});
              }
              voice.end(failure);
            }
          }};
}

GatePart exhaustive_part(GateContext const& context, std::uint32_t depth) {
  return {"exhaustive", [context, depth](GateVoice& voice) {
            for (char const* name : {"tiny-rows", "tiny", "glm5-next-mini"}) {
              model::Geometry const geometry = model::load_geometry(name);
              for (StartState const& start : start_states()) {
                voice.begin(fmt::format("{} from {}", name, start.name),
                            context.command({"gate", "--only", "exhaustive"}));
                SearchResult const result = search_exhaustively(geometry, start, depth);
                voice.end(result.failed ? describe_failed(*result.failed) : "");
              }
            }
          }};
}

GatePart determinism_part(GateContext const& context, std::uint32_t programs) {
  return {"determinism", [context, programs](GateVoice& voice) {
            for (model::Geometry const& geometry : context.geometries) {
              voice.begin(
                  geometry.name,
                  context.command(
                      {"gate", "--only", "determinism", "--seed", std::to_string(context.seed)}));
              voice.end(determinism_failure(geometry, context.seed, programs));
            }
          }};
}

GatePart canary_part(GateContext const& context, bool muted) {
  return {"canary", [context, muted](GateVoice& voice) {
            std::string const command = context.command({"gate", "--only", "canary"});
            voice.begin("broken contract", command);
            voice.end(canary_failure(context, muted));
            voice.begin("crash", command);
            voice.end(crash_failure(context, muted));
            voice.begin("changed answer", command);
            voice.end(difference_failure(context, muted));
          }};
}

GatePart random_part(GateContext const& context, double seconds, std::uint32_t threads) {
  return {
      "random", [context, seconds, threads](GateVoice& voice) {
        std::string const seed = std::to_string(context.seed);
        voice.begin("programs",
                    context.command(
                        {"run", "--seed", seed, "--seconds", fmt::format("{:.0f}", seconds + 1)}));
        RunResult const result =
            run_many({.geometries = context.geometries,
                      .seed = context.seed,
                      .seconds = seconds,
                      .threads = threads,
                      .on_progress = [&](Counts const&, double) { voice.go_on(); }});
        if (!result.failed) {
          voice.end("");
          return;
        }
        std::uint64_t const operations = operations_through(context.seed, result.failed->index);
        voice.end(random_failure(*result.failed),
                  context.command({"run", "--seed", seed, "--ops", std::to_string(operations)}));
      }};
}

std::optional<std::size_t> first_difference(Chain const& one, Chain const& other) {
  std::size_t const both = std::min(one.size(), other.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (one[i] != other[i]) {
      return i;
    }
  }
  return one.size() == other.size() ? std::nullopt : std::optional{both};
}

Chains::Chains(model::Geometry const& geometry, std::uint64_t seed)
    : swarm_{{geometry}, seed, std::nullopt},
      runner_{swarm_,
              {.on_step = [this](std::uint32_t,
                                 model::AnyOp const& op,
                                 model::Observation const&,
                                 model::Observation const& got) {
                std::string const text = model::text_of(op);
                std::uint64_t const answer =
                    got.ok ? got.value : (1ULL << 32U) + static_cast<std::uint32_t>(got.code);
                std::uint64_t const before = chain_.empty() ? 0 : chain_.back();
                chain_.push_back(
                    model::mix(before, model::mix(XXH3_64bits(text.data(), text.size()), answer)));
              }}} {}

Chain Chains::of(std::uint64_t index) {
  chain_.clear();
  ProgramResult const result = runner_.run(swarm_.program(index));
  chain_.push_back(result.digest);
  return chain_;
}

std::string Chains::operation(std::uint64_t index, std::size_t number) {
  std::vector<model::AnyOp> const& ops = runner_.runner(swarm_.program(index)).ops();
  return number < ops.size() ? model::text_of(ops[number]) : "the visible bytes at the end";
}

}  // namespace holdfast::fuzz
