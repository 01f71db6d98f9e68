// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/engine_minimize.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "fuzz/target/engine_generator.hpp"

namespace holdfast::fuzz {
namespace {

using model::EngineItem;
using model::EngineKind;
using model::EngineOp;
using Ops = std::vector<EngineOp>;

constexpr std::size_t kMostForPairs = 24;

/// Whether every operation makes sense where it stands, as far as that can be known without the engine.
bool makes_sense(EngineProgram const& program, model::Hello const& hello) {
  model::HistoryModel model{hello, program.knobs};
  for (EngineOp const& op : program.ops) {
    if (!model.makes_sense(op)) {
      return false;
    }
    model.apply(op, model.likely(op));
  }
  return true;
}

std::string key_of(EngineProgram const& program) {
  std::string key = model::text_of(program.knobs);
  for (EngineOp const& op : program.ops) {
    key += "\n" + model::text_of(op);
  }
  return key;
}

/// Numbers below, the smallest first.
std::vector<std::uint32_t> smaller(std::uint32_t value, std::uint32_t least) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t const number : {least, least + 1, value / 2, value - 1}) {
    if (value > least && number < value && number >= least &&
        (numbers.empty() || number > numbers.back())) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

void add_item_forms(EngineOp const& op, Ops& forms) {
  for (std::size_t i = 0; i < op.items.size(); ++i) {
    if (op.items.size() > 1) {
      forms.push_back(op);
      forms.back().items.erase(forms.back().items.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::uint32_t const rows : smaller(op.items[i].rows, 1)) {
      forms.push_back(op);
      forms.back().items[i].rows = rows;
    }
    for (model::Ask const ask : {model::Ask::kNone, model::Ask::kLast}) {
      if (op.items[i].ask != ask && op.items[i].ask != model::Ask::kNone) {
        forms.push_back(op);
        forms.back().items[i].ask = ask;
      }
    }
  }
}

/// The operation with one thing simpler.
Ops simpler_forms(EngineOp const& op) {
  Ops forms;
  add_item_forms(op, forms);
  auto const with = [&](auto member, auto value) {
    if (op.*member != value) {
      forms.push_back(op);
      forms.back().*member = value;
    }
  };
  model::EngineKindInfo const& info = model::info_of(op.kind);
  if (op.kind == EngineKind::kDraft) {
    forms.push_back({.items = {{op.sequence, std::max(op.keep, 1U), op.token, model::Ask::kLast}}});
    for (std::uint32_t const keep : smaller(op.keep, 0)) {
      with(&EngineOp::keep, keep);
    }
    for (std::uint32_t const rows : smaller(op.rows, std::max(op.keep, 1U))) {
      with(&EngineOp::rows, rows);
    }
  }
  bool const fills = op.kind == EngineKind::kFork || op.kind == EngineKind::kLoad ||
                     op.kind == EngineKind::kCopy || op.kind == EngineKind::kRollback;
  if (fills) {
    forms.push_back(
        {.items = {{info.has(model::kTo) ? op.to : op.sequence, 1, 1, model::Ask::kNone}}});
  }
  if (info.has(model::kEnd)) {
    with(&EngineOp::end, model::kNoBound);
  }
  for (std::uint32_t const first : smaller(op.first, 0)) {
    with(&EngineOp::first, first);
  }
  if (info.has(model::kBy)) {
    with(&EngineOp::by, 1);
  }
  for (std::uint32_t const bit : smaller(op.flip, 0)) {
    with(&EngineOp::flip, bit);
  }
  for (std::uint32_t const cut : smaller(op.cut, 1)) {
    with(&EngineOp::cut, cut);
  }
  return forms;
}

/// Gives names of one kind other numbers, wherever they stand.
void rename(Ops& ops,
            model::EngineField field,
            std::map<std::uint32_t, std::uint32_t> const& names) {
  auto const change = [&](std::uint32_t& name) {
    auto const found = names.find(name);
    name = found == names.end() ? name : found->second;
  };
  for (EngineOp& op : ops) {
    model::EngineKindInfo const& info = model::info_of(op.kind);
    if (field == model::kSequence) {
      for (EngineItem& item : op.items) {
        change(item.sequence);
      }
      if (info.has(model::kSequence)) {
        change(op.sequence);
      }
      if (info.has(model::kTo)) {
        change(op.to);
      }
    } else if (field == model::kEntry && info.has(model::kEntry)) {
      change(op.entry);
    } else if (field == model::kSnapshotName && info.has(model::kSnapshotName)) {
      change(op.snapshot);
    }
  }
}

constexpr model::EngineField kNamed[] = {model::kSequence, model::kEntry, model::kSnapshotName};

/// Names in the order in which they first stand.
std::vector<std::uint32_t> names_in(Ops const& ops, model::EngineField field) {
  std::vector<std::uint32_t> names;
  auto const add = [&](std::uint32_t name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  };
  for (EngineOp const& op : ops) {
    model::EngineKindInfo const& info = model::info_of(op.kind);
    for (EngineItem const& item : op.items) {
      if (field == model::kSequence) {
        add(item.sequence);
      }
    }
    if (info.has(field)) {
      add(field == model::kSequence ? op.sequence
          : field == model::kEntry  ? op.entry
                                    : op.snapshot);
    }
    if (field == model::kSequence && info.has(model::kTo)) {
      add(op.to);
    }
  }
  return names;
}

void number_tokens(Ops& ops) {
  std::uint32_t next = 1;
  for (EngineOp& op : ops) {
    for (EngineItem& item : op.items) {
      item.token = next;
      next += item.rows;
    }
    if (op.kind == EngineKind::kDraft) {
      op.token = next;
      next += op.rows;
    }
  }
}

/// Greedy: what was found smaller is never given up again.
class Search {
 public:
  Search(EngineRunner& runner, EngineMinimizePlan const& plan, EngineVerdict const& first)
      : runner_{runner}, plan_{plan}, program_{plan.program}, verdict_{first} {
    kind_ = program_.ops[verdict_.at].kind;
    program_.ops.resize(verdict_.at + 1);
    known_ = known_in(program_);
  }

  void run() {
    for (bool improved = true; improved && !is_over();) {
      improved = remove_chunks();
      improved = simplify_knobs() || improved;
      improved = remove_pairs() || improved;
      improved = unify_names() || improved;
      improved = merge_batches() || improved;
      improved = simplify_fields() || improved;
    }
    write_canonically();
  }
  [[nodiscard]] EngineProgram const& program() const noexcept { return program_; }
  [[nodiscard]] EngineVerdict const& verdict() const noexcept { return verdict_; }
  [[nodiscard]] std::uint64_t candidates() const noexcept { return candidates_; }

 private:
  [[nodiscard]] std::set<std::size_t> known_in(EngineProgram const& program) const {
    Session& session = runner_.session();
    return fuzz::known_in(session.target(), session.hello(), program.knobs, program.ops);
  }

  /// It must not become a known finding that it was not.
  [[nodiscard]] bool drifts(EngineProgram const& candidate) const {
    std::set<std::size_t> const known = known_in(candidate);
    return !std::includes(known_.begin(), known_.end(), known.begin(), known.end());
  }

  [[nodiscard]] bool is_over() const {
    return candidates_ >= plan_.most_candidates || hangs_ >= plan_.most_hangs ||
           (plan_.should_stop && plan_.should_stop());
  }

  bool attempt(EngineProgram const& candidate) {
    if (candidate.ops.empty() || is_over() || !tried_.insert(key_of(candidate)).second ||
        !makes_sense(candidate, runner_.session().hello()) || drifts(candidate)) {
      return false;
    }
    ++candidates_;
    EngineVerdict verdict = runner_.run(candidate);
    hangs_ += verdict.oracle == "HANG" ? 1U : 0U;
    if (verdict.oracle != verdict_.oracle || candidate.ops[verdict.at].kind != kind_) {
      return false;
    }
    program_ = candidate;
    program_.ops.resize(verdict.at + 1);
    verdict_ = std::move(verdict);
    return true;
  }
  bool attempt(Ops ops) {
    EngineProgram candidate = program_;
    candidate.ops = std::move(ops);
    return attempt(candidate);
  }

  bool remove_chunks() {
    bool improved = false;
    for (std::size_t size = std::max<std::size_t>(program_.ops.size() / 2, 1); size != 0;
         size /= 2) {
      for (std::size_t last = program_.ops.size(); last != 0;) {
        std::size_t const first = last > size ? last - size : 0;
        Ops rest = program_.ops;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(first),
                   rest.begin() + static_cast<std::ptrdiff_t>(last));
        improved = attempt(std::move(rest)) || improved;
        last = std::min(first, program_.ops.size());
      }
    }
    return improved;
  }

  bool remove_pairs() {
    bool improved = false;
    for (std::size_t later = program_.ops.size();
         later-- > 1 && program_.ops.size() <= kMostForPairs;) {
      for (std::size_t earlier = std::min(later, program_.ops.size()); earlier-- > 0;) {
        if (later >= program_.ops.size()) {
          break;
        }
        Ops rest = program_.ops;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(later));
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(earlier));
        improved = attempt(std::move(rest)) || improved;
      }
    }
    return improved;
  }

  bool simplify_knobs() {
    bool improved = false;
    for (model::KnobInfo const& knob : runner_.session().hello().knobs) {
      EngineProgram candidate = program_;
      candidate.knobs[knob.name] = knob.values.front();
      improved = attempt(candidate) || improved;
    }
    return improved;
  }

  bool unify_names() {
    bool improved = false;
    for (model::EngineField const field : kNamed) {
      std::vector<std::uint32_t> const names = names_in(program_.ops, field);
      for (std::uint32_t const gone : names) {
        for (std::uint32_t const stays : names) {
          Ops changed = program_.ops;
          rename(changed, field, {{gone, stays}});
          improved = (gone != stays && attempt(std::move(changed))) || improved;
        }
      }
    }
    return improved;
  }

  /// Two batches of one item each on the same sequence become one.
  bool merge_batches() {
    bool improved = false;
    for (std::size_t later = program_.ops.size(); later-- > 1;) {
      for (std::size_t earlier = std::min(later, program_.ops.size()); earlier-- > 0;) {
        if (later >= program_.ops.size() || program_.ops[later].items.size() != 1 ||
            program_.ops[earlier].items.size() != 1 ||
            program_.ops[later].items[0].sequence != program_.ops[earlier].items[0].sequence) {
          continue;
        }
        EngineOp both = program_.ops[earlier];
        both.items[0].rows += program_.ops[later].items[0].rows;
        for (std::size_t const place : {earlier, later}) {
          Ops merged = program_.ops;
          merged[place] = both;
          merged[place].items[0].ask = program_.ops[place].items[0].ask;
          merged.erase(merged.begin() +
                       static_cast<std::ptrdiff_t>(place == earlier ? later : earlier));
          number_tokens(merged);
          if (attempt(std::move(merged))) {
            improved = true;
            break;
          }
        }
      }
    }
    return improved;
  }

  bool simplify_fields() {
    bool improved = false;
    for (std::size_t index = program_.ops.size(); index-- > 0;) {
      bool simpler = index < program_.ops.size();
      while (simpler && index < program_.ops.size()) {
        simpler = false;
        for (EngineOp const& form : simpler_forms(program_.ops[index])) {
          Ops changed = program_.ops;
          changed[index] = form;
          if (form.kind != program_.ops[index].kind) {
            number_tokens(changed);
          }
          if (attempt(std::move(changed))) {
            improved = simpler = true;
            break;
          }
        }
      }
    }
    return improved;
  }

  void write_canonically() {
    Ops numbered = program_.ops;
    number_tokens(numbered);
    attempt(numbered);
    for (model::EngineField const field : kNamed) {
      std::map<std::uint32_t, std::uint32_t> numbers;
      for (std::uint32_t const name : names_in(program_.ops, field)) {
        numbers.emplace(name, static_cast<std::uint32_t>(numbers.size()));
      }
      numbered = program_.ops;
      rename(numbered, field, numbers);
      attempt(numbered);
    }
  }

  EngineRunner& runner_;
  EngineMinimizePlan const& plan_;
  EngineProgram program_;
  EngineVerdict verdict_;
  EngineKind kind_ = EngineKind::kCount;
  std::set<std::size_t> known_;  // findings that the program has from the beginning
  std::set<std::string> tried_;
  std::uint64_t candidates_ = 0;
  std::uint64_t hangs_ = 0;
};

}  // namespace

EngineFinding minimize(EngineRunner& runner, EngineMinimizePlan const& plan) {
  EngineFinding found{.program = plan.program, .verdict = runner.run_fresh(plan.program)};
  found.candidates = 1;
  if (!found.verdict.failed() || plan.program.ops.empty()) {
    found.reproduced = false;
    return found;
  }
  Search search{runner, plan, found.verdict};
  search.run();
  found.program = search.program();
  found.candidates += search.candidates();
  found.verdict = runner.run_fresh(found.program);
  if (!found.verdict.failed()) {  // it needed what ran before it in the same process
    found.program = plan.program;
    found.verdict = runner.run_fresh(found.program);
  }
  if (!found.verdict.failed()) {
    found.reproduced = false;
    return found;
  }
  found.blamed = blame(runner, found.program, found.verdict);
  found.bucket = bucket_of(found.program, found.verdict, found.blamed);
  return found;
}

std::size_t blame(EngineRunner& runner,
                  EngineProgram const& program,
                  EngineVerdict const& verdict) {
  bool const is_process = verdict.oracle == "CRASH" || verdict.oracle == "HANG" ||
                          verdict.oracle == "MEMORY" || verdict.oracle == "PROTOCOL";
  model::Hello const& hello = runner.session().hello();
  std::vector<std::uint32_t> const used = names_in(program.ops, model::kSequence);
  for (std::size_t length = 1; length <= verdict.at && !is_process; ++length) {
    EngineProgram prefix = program;
    prefix.ops.resize(length);
    std::uint32_t token = 1;
    for (EngineOp const& op : prefix.ops) {
      token += model::rows_of(op);
    }
    std::vector<EngineOp> const probes =
        probes_of(used.empty() ? std::vector{0U} : used, token + 7);
    prefix.ops.insert(prefix.ops.end(), probes.begin(), probes.end());
    if (makes_sense(prefix, hello) && runner.run_fresh(prefix).failed()) {
      return length - 1;
    }
  }
  return verdict.at;
}

EngineBucket bucket_of(EngineProgram const& program,
                       EngineVerdict const& verdict,
                       std::size_t blamed) {
  std::set<std::string> kinds;
  for (EngineOp const& op : program.ops) {
    kinds.insert(model::name_of(op));
  }
  EngineBucket bucket{.oracle = verdict.oracle, .blamed = "nothing"};
  if (blamed < program.ops.size()) {
    bucket.blamed = model::name_of(program.ops[blamed]);
  }
  for (std::string const& kind : kinds) {
    bucket.kinds += (bucket.kinds.empty() ? "" : "+") + kind;
  }
  return bucket;
}

}  // namespace holdfast::fuzz
