// SPDX-License-Identifier: Apache-2.0
// Times of the library's calls on a CUDA device for the geometries of full size, beside the usual
// ways, all in one process. Host times are of library calls only; totals end when the device is
// done. Everything is a median.
#include <fmt/format.h>

#include <array>
#include <holdfast/cache.hpp>
#include <holdfast/cuda.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/replayed.hpp"
#include "bench/scene.hpp"
#include "bench/timing.hpp"
#include "bench/usual_ways.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::bench {
namespace {

constexpr std::uint32_t kRuns = 50;
constexpr std::uint32_t kVerify = 4;
constexpr std::uint32_t kAccept = 2;
constexpr std::uint32_t kPrefill = 32'768 - 512;  // room for rounds behind it
constexpr std::uint32_t kRestored = 8192;
constexpr double kMebi = 1024.0 * 1024.0;

std::string text_of(Times const& times) {
  return fmt::format("{:.2f} / {:.1f}", times.host, times.total);
}

std::string text_of(DeviceCounts const& counts) {
  return fmt::format("{} launches, {} plane bytes", counts.launches, counts.plane_bytes);
}

void line(std::string const& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

/// Snapshot, rollback and fork of a long sequence.
void time_movements(Scene& scene, std::string const& name) {
  auto const wait = [&] { scene.wait(); };
  Sequence sequence = taken(scene.cache().create_sequence(), "sequence");
  scene.append(sequence, kPrefill);
  scene.wait();
  Snapshot snapshot;
  Times const snap = measure(
      kRuns,
      [&] { snapshot = Snapshot{}; },
      [&] { snapshot = taken(sequence.snapshot(), "snapshot"); },
      wait);
  DeviceCounts const snapped =
      scene.count([&] { Snapshot const another = taken(sequence.snapshot(), "snapshot"); });
  StepItem const item{.sequence = &sequence, .kind = StepKind::kVerify, .rows = kVerify};
  auto const go_on = [&] {
    Step step = taken(scene.cache().begin({&item, 1}), "begin");
    scene.touch(step, 1, kVerify);
    must(step.finish(std::array{kAccept}), "finish");
  };
  Times const rolled = measure(
      kRuns, go_on, [&] { must(sequence.rollback(snapshot), "rollback"); }, wait);
  go_on();
  DeviceCounts const back = scene.count([&] { must(sequence.rollback(snapshot), "rollback"); });
  Sequence fork;
  Times const forked = measure(
      kRuns, [&] { fork = Sequence{}; }, [&] { fork = taken(snapshot.fork(), "fork"); }, wait);
  fork = Sequence{};
  DeviceCounts const away = scene.count([&] { fork = taken(snapshot.fork(), "fork"); });
  line(fmt::format(
      "| {} | snapshot, {} rows | {} | {} |", name, kPrefill, text_of(snap), text_of(snapped)));
  line(fmt::format(
      "| {} | rollback over a round | {} | {} |", name, text_of(rolled), text_of(back)));
  line(fmt::format("| {} | fork | {} | {} |", name, text_of(forked), text_of(away)));
}

/// A round in columns: one at a time, then many back to back.
void time_rounds(Scene& scene, std::string const& name, bool has_states) {
  auto const wait = [&] { scene.wait(); };
  Sequence sequence = taken(scene.cache().create_sequence(), "sequence");
  scene.append(sequence, 1024);
  Snapshot const start = taken(sequence.snapshot(), "snapshot");
  StepItem const item{.sequence = &sequence, .kind = StepKind::kVerify, .rows = kVerify};
  std::vector<double> begins;
  std::vector<double> ends;
  std::vector<double> totals;
  for (std::uint32_t i = 0; i < kRuns + 5; ++i) {
    scene.wait();
    double const before = now();
    Step round = taken(scene.cache().begin({&item, 1}), "begin");
    double const open = now();
    scene.touch(round, 1, kVerify);
    scene.wait();
    double const written = now();
    must(round.finish(std::array{kAccept}), "finish");
    double const done = now();
    scene.wait();
    if (i >= 5) {
      begins.push_back(open - before);
      ends.push_back(done - written);
      totals.push_back(now() - written + open - before);
    }
  }
  line(fmt::format(
      "| {} | round in columns, verify {} accept {}: verify, accept | {:.2f} + {:.2f} / {:.1f} | |",
      name,
      kVerify,
      kAccept,
      median(begins),
      median(ends),
      median(totals)));
  // Around a replayed graph, so that the calls are all that the host does; the graph is the engine's.
  constexpr std::uint32_t kMany = 100;
  GraphSignature signature;
  {
    Step round = taken(scene.cache().begin({&item, 1}), "begin");
    scene.touch(round, 1, kVerify);
    signature = taken(round.signature(), "signature");
    must(round.finish(std::array{kAccept}), "finish");
  }
  auto const rounds = [&] {
    for (std::uint32_t i = 0; i < kMany; ++i) {
      Step round = taken(scene.cache().begin({&item, 1}), "begin");
      must(round.replay(signature), "replay");
      must(round.finish(std::array{kAccept}), "finish");
    }
  };
  auto const go_back = [&] { must(sequence.rollback(start), "rollback"); };
  Times const many = measure(21, go_back, rounds, wait);
  go_back();
  DeviceCounts const counts = scene.count(rounds);
  line(fmt::format(
      "| {} | the same around a replayed graph, {} back to back, each | {:.2f} / {:.2f} | {} |",
      name,
      kMany,
      many.host / kMany,
      many.total / kMany,
      text_of(counts)));
  if (!has_states) {
    return;
  }
  // In place, on a state that a snapshot holds: begin copies it.
  std::optional<Append> open;
  auto const begin = [&] { open = taken(sequence.append(1, {}, AppendMode::kInPlace), "append"); };
  auto const drop = [&] {
    open.reset();
    must(sequence.rollback(start), "rollback");
  };
  Times const in_place = measure(kRuns, drop, begin, wait);
  drop();
  std::uint64_t const copied = scene.count(begin).plane_bytes;
  open.reset();
  Times const flat = measure_flat_copies(copied, 1);
  line(
      fmt::format("| {} | in-place append on a held state | {} | {:.1f} MiB copied; one flat copy "
                  "of it {}; {:.2f} of that |",
                  name,
                  text_of(in_place),
                  static_cast<double>(copied) / kMebi,
                  text_of(flat),
                  in_place.total / flat.total));
}

/// Rows through the row kernels, against a flat copy that moves as many bytes.
void time_append(Scene& scene, std::string const& name) {
  Sequence sequence = taken(scene.cache().create_sequence(), "sequence");
  Snapshot const empty = taken(sequence.snapshot(), "snapshot");
  std::vector<double> totals;
  std::vector<double> at_once;
  StepItem const item{.sequence = &sequence, .kind = StepKind::kAppend, .rows = kPiece};
  for (std::uint32_t i = 0; i < 25; ++i) {
    Append open = taken(sequence.append(kPiece), "append");
    scene.wait();
    double const start = now();
    scene.write(open, kPiece);
    scene.wait();
    totals.push_back(now() - start);
    must(open.drop(), "drop");
    must(sequence.rollback(empty), "rollback");
    Step step = taken(scene.cache().begin({&item, 1}), "begin");
    scene.wait();
    double const again = now();
    scene.write_all(step, kPiece);
    scene.wait();
    at_once.push_back(now() - again);
    must(step.drop(), "drop");
    must(sequence.rollback(empty), "rollback");
  }
  std::uint64_t const moved = scene.bytes_of_write(kPiece);
  std::uint32_t writes = 0;
  scene.for_each_written([&](PlaneInfo const&, std::uint32_t) { ++writes; });
  Times const one = measure_flat_copies(moved / 2, 1);
  Times const many = measure_flat_copies(moved / 2, writes);
  double const taken_by_writes = median(totals);
  line(fmt::format(
      "| {} | {} rows written, {} writes | {:.1f} | {:.1f} MiB read and written, {:.0f} GB/s |",
      name,
      kPiece,
      writes,
      taken_by_writes,
      static_cast<double>(moved) / kMebi,
      static_cast<double>(moved) / taken_by_writes / 1e3));
  line(fmt::format(
      "| {} | flat copies that move as many bytes: one; as many as writes | {:.1f}; {:.1f} | "
      "{:.0f} %; {:.0f} % |",
      name,
      one.total,
      many.total,
      100 * one.total / taken_by_writes,
      100 * many.total / taken_by_writes));
  line(
      fmt::format("| {} | the same rows, all classes as one list | {:.1f} | {:.0f} GB/s, "
                  "{:.0f} % of one flat copy |",
                  name,
                  median(at_once),
                  static_cast<double>(moved) / median(at_once) / 1e3,
                  100 * one.total / median(at_once)));
}

/// The launches between begin and finish in a graph, and a step around it.
void time_replays(CudaDevice& device, Scene& scene, std::string const& name) {
  Sequence sequence = taken(scene.cache().create_sequence(), "sequence");
  scene.append(sequence, 1000);
  StepItem const item{.sequence = &sequence, .kind = StepKind::kAppend, .rows = 1};
  GraphSignature signature;
  {
    Step step = taken(scene.cache().begin({&item, 1}), "begin");
    GraphTimes const times = measure_graph(device, [&] { scene.write_all(step, 1); });
    for (StateInfo const& state : scene.look().states()) {
      if (state.kind == PlaneKind::kHeld) {
        must(step.held(0, state.layer), "held");
      } else {
        must(step.state(0, state.layer), "state");
      }
    }
    signature = taken(step.signature(), "signature");
    line(fmt::format(
        "| {} | one row of every plane in a replayed graph | {:.2f} / {:.2f} | {} kernel "
        "nodes; {:.2f} each, back to back |",
        name,
        times.host,
        times.device,
        times.kernel_nodes,
        times.back_to_back));
    must(step.finish(std::array{1U}), "finish");
  }
  std::vector<double> hosts;
  for (std::uint32_t i = 0; i < kRuns; ++i) {
    scene.wait();
    double const before = now();
    Step step = taken(scene.cache().begin({&item, 1}), "begin");
    must(step.replay(signature), "replay");
    must(step.finish(std::array{1U}), "finish");
    hosts.push_back(now() - before);
  }
  line(fmt::format(
      "| {} | append of one row around a replayed graph: begin, replay, finish | {:.2f} | "
      "the graph's launch not counted |",
      name,
      median(hosts)));
}

void time_restore(Scene& scene, std::string const& name) {
  std::vector<TokenKey> tokens(kRestored);
  for (std::uint32_t i = 0; i < kRestored; ++i) {
    tokens[i] = i + 1;
  }
  {
    Sequence sequence = taken(scene.cache().create_sequence(), "sequence");
    scene.append(sequence, kRestored);
    scene.wait();
    Snapshot const snapshot = taken(sequence.snapshot(), "snapshot");
    must(scene.cache().capture({}, snapshot, tokens), "capture");
  }
  tokens.push_back(7);
  Restored restored;
  Times const times = measure(
      kRuns,
      [&] { restored = Restored{}; },
      [&] { restored = taken(scene.cache().restore({}, tokens, UINT32_MAX), "restore"); },
      [&] { scene.wait(); });
  restored = Restored{};
  DeviceCounts const counts = scene.count(
      [&] { restored = taken(scene.cache().restore({}, tokens, UINT32_MAX), "restore"); });
  line(fmt::format("| {} | restore of an entry of {} tokens | {} | {} |",
                   name,
                   restored.length,
                   text_of(times),
                   text_of(counts)));
}

/// A step of many sequences.
void time_step(CudaDevice& device, Layout layout, std::string const& name) {
  constexpr std::uint32_t kSequences = 64;
  layout.capacity = {.sequences = kSequences,
                     .tokens = 1024,
                     .largest_round = kVerify,
                     .snapshots = 1,
                     .slots = kSequences * (1 + kVerify) + 2,
                     .pages = kSequences * 17,
                     .ring_pages = 0};
  Scene scene{device, layout};
  std::vector<Sequence> sequences;
  std::array<StepItem, kSequences> items;
  for (std::uint32_t i = 0; i < kSequences; ++i) {
    sequences.push_back(taken(scene.cache().create_sequence(), "sequence"));
  }
  for (std::uint32_t i = 0; i < kSequences; ++i) {
    scene.append(sequences[i], 100 + i);
    items[i] = {.sequence = &sequences[i], .kind = StepKind::kVerify, .rows = kVerify};
  }
  std::array<std::uint32_t, kSequences> keep;
  keep.fill(kAccept);
  std::vector<double> begins;
  std::vector<double> ends;
  std::vector<double> totals;
  for (std::uint32_t run = 0; run < 60; ++run) {
    scene.wait();
    double const before = now();
    Step step = taken(scene.cache().begin(items), "begin");
    double const open = now();
    scene.touch(step, kSequences, kVerify);
    scene.wait();
    double const written = now();
    must(step.finish(keep), "finish");
    double const done = now();
    scene.wait();
    if (run >= 10) {
      begins.push_back(open - before);
      ends.push_back(done - written);
      totals.push_back(now() - written + open - before);
    }
  }
  line(
      fmt::format("| {} | step of {} sequences, verify {} accept {}: begin, finish | {:.2f} + "
                  "{:.2f} / {:.1f} | |",
                  name,
                  kSequences,
                  kVerify,
                  kAccept,
                  median(begins),
                  median(ends),
                  median(totals)));
}

/// What 10,000 rounds ask of the device.
void count_rounds(Scene& scene, std::string const& name) {
  constexpr std::uint32_t kRounds = 10'000;
  Sequence sequence = taken(scene.cache().create_sequence(), "sequence");
  Snapshot const start = taken(sequence.snapshot(), "snapshot");
  StepItem const item{.sequence = &sequence, .kind = StepKind::kVerify, .rows = kVerify};
  DeviceCounts const counts = scene.count([&] {
    for (std::uint32_t i = 0; i < kRounds; ++i) {
      if (i % 1000 == 0) {
        must(sequence.rollback(start), "rollback");
      }
      Step round = taken(scene.cache().begin({&item, 1}), "begin");
      scene.touch(round, 1, kVerify);
      must(round.finish(std::array{kAccept}), "finish");
    }
  });
  line(fmt::format(
      "| {} | {} rounds | | {} launches, {} allocations, {} synchronizes, {} events awaited |",
      name,
      kRounds,
      counts.launches,
      counts.allocations,
      counts.synchronizes,
      counts.awaits));
}

void run_geometry(CudaDevice& device, std::string const& name) {
  model::Geometry const geometry = model::load_geometry(name);
  Layout layout = geometry.layout;
  layout.capacity.entries = 1;
  layout.capacity.sequences = 4;
  layout.capacity.snapshots = 4;
  layout.capacity.largest_round = std::max(kVerify, layout.capacity.largest_round);
  layout.capacity.pages = 4 * 32'768 / layout.page_rows;
  std::vector<std::uint64_t> states;
  {
    Scene scene{device, layout};
    for (StateInfo const& state : scene.look().states()) {
      for (std::uint32_t const elements :
           {state.conv_elements, state.ssm_elements, state.held_elements}) {
        if (elements != 0) {
          states.push_back(std::uint64_t{elements} * sizeof(float));
        }
      }
    }
    time_movements(scene, name);
    time_rounds(scene, name, !states.empty());
    time_append(scene, name);
    time_replays(device, scene, name);
    time_restore(scene, name);
    count_rounds(scene, name);
  }
  time_step(device, layout, name);
  if (states.empty()) {
    return;
  }
  UsualWays const ways = measure_usual_ways(states);
  line(fmt::format(
      "| {} | usual ways to save {} buffers of {:.1f} MiB: allocate and copy each | {} | |",
      name,
      ways.buffers,
      static_cast<double>(ways.bytes) / kMebi,
      text_of(ways.allocate)));
  line(fmt::format("| {} | copy each | {} | |", name, text_of(ways.copies)));
  line(fmt::format("| {} | cudaMemcpyBatchAsync | {} | |", name, text_of(ways.batch)));
  line(fmt::format("| {} | one flat copy | {} | |", name, text_of(ways.flat)));
  line(fmt::format(
      "| {} | save and restore, two batches | {} | |", name, text_of(ways.batch_and_back)));
}

int run(std::span<char* const> names) {
  auto device = make_cuda_device(0);
  if (!device) {
    fmt::print(stderr, "SKIPPED: no CUDA device: {}\n", describe(device.error()));
    return 3;
  }
  std::vector<std::string> chosen(names.begin(), names.end());
  if (chosen.empty()) {
    for (std::string const& name : model::built_in_geometry_names()) {
      model::Geometry const geometry = model::read_geometry(name);
      if (geometry.full_size && geometry.lacks.empty()) {
        chosen.push_back(name);
      }
    }
  }
  line("| geometry | what | microseconds, host / until the device is done | asked of the device |");
  line("|---|---|---|---|");
  for (std::string const& name : chosen) {
    run_geometry(**device, name);
  }
  return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  try {
    return holdfast::bench::run({argv + 1, static_cast<std::size_t>(argc - 1)});
  } catch (holdfast::model::InputError const& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
