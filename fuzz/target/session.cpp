// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/session.hpp"

#include <xxhash.h>

#include <algorithm>

#include "models/input_error.hpp"

namespace holdfast::fuzz {
namespace {

using model::EngineAnswer;
using model::EngineOp;
using model::Expected;
using model::HistoryModel;
using model::Logits;
using model::Positions;
using model::Reply;

/// Bytes of logits that are kept.
constexpr std::size_t kMostKnown = std::size_t{48} << 20U;

std::string line_of(EngineOp const& op, model::Hello const& hello) {
  return model::wire_of(op, hello.vocabulary) + "\npositions\n";
}

std::string reset_line(EngineProgram const& program) {
  std::string const knobs = model::text_of(program.knobs);
  return "reset " + knobs + (knobs.empty() ? "" : " ") + "seed=" + std::to_string(program.seed) +
         "\n";
}

bool continues(Expected const& longer, Expected const& shorter) {
  return longer.first == shorter.first && longer.tokens.size() > shorter.tokens.size() &&
         std::equal(shorter.tokens.begin(), shorter.tokens.end(), longer.tokens.begin());
}

/// A line of `cold` with logits wanted after some lengths of one history.
std::string cold_line(Expected const& history, std::vector<std::size_t> const& lengths) {
  std::string line = "cold tokens=";
  std::size_t next = 0;
  for (std::size_t i = 0; i < history.tokens.size(); ++i) {
    line += (i == 0 ? "" : ".") + std::to_string(history.tokens[i]);
    if (next < lengths.size() && lengths[next] == i + 1) {
      line += "!";
      ++next;
    }
  }
  return line + (history.first != 0 ? " first=" + std::to_string(history.first) : "") + "\n";
}

/// Applies the answers to the model, one operation after the other.
class Follower {
 public:
  Follower(Target const& target,
           model::Hello const& hello,
           EngineProgram const& program,
           EngineRun& run)
      : target_{target},
        hello_{hello},
        program_{program},
        run_{run},
        model_{hello, program.knobs} {}

  /// Operations up to there can be sent without a look at answers. The first to which the engine has a choice of
  /// answers is the last one; the next one must make sense after each of them.
  [[nodiscard]] std::size_t piece_end() const {
    HistoryModel model = model_;
    std::vector<EngineOp> before = done_;
    for (std::size_t i = run_.steps.size(); i < program_.ops.size(); ++i) {
      EngineOp const& op = program_.ops[i];
      if (!model.makes_sense(op) || is_left_out(op, before, model)) {
        return i;
      }
      before.push_back(op);
      if (model.has_choice(op)) {
        return i + 1;
      }
      model.apply(op, Reply::kOk);
    }
    return program_.ops.size();
  }

  /// Leaves the next operation out.
  void skip() {
    EngineOp const& op = program_.ops[run_.steps.size()];
    EngineStep& step = run_.steps.emplace_back();
    step.op = op;
    step.skipped = true;
    step.before = step.after = before_;
    note_histories(step);
  }

  [[nodiscard]] bool is_over() const {
    return !is_followed_ || run_.trouble.ending != Ending::kFine ||
           run_.steps.size() == program_.ops.size();
  }

  /// Takes the answers to the next operations, each with that to `positions`.
  void take(std::vector<EngineAnswer>& answers) {
    for (std::size_t i = 0; i + 1 < answers.size() && is_followed_; i += 2) {
      take_one(answers[i], answers[i + 1]);
    }
  }

 private:
  void take_one(EngineAnswer& answer, EngineAnswer const& positions) {
    auto const after = model::parse_positions(positions.rest, hello_.sequences);
    if (!after || positions.reply != Reply::kOk || !positions.logits.empty()) {
      std::string const word = model::kReplyNames[static_cast<std::size_t>(positions.reply)];
      run_.trouble = {Ending::kProtocol,
                      "'positions' was answered with " + model::quoted(word + positions.rest) +
                          (positions.logits.empty() ? "" : " and logits that nobody asked for")};
      is_followed_ = false;
      return;
    }
    EngineOp const& op = program_.ops[run_.steps.size()];
    is_followed_ = model_.makes_sense(op);  // an answer that nobody may give came before it
    if (!is_followed_) {
      return;
    }
    EngineStep& step = run_.steps.emplace_back();
    step.op = op;
    step.answer = std::move(answer);
    done_.push_back(op);
    is_surprised_ = is_surprised_ || step.answer.reply != model_.likely(op);
    step.may_refuse = model_.may_refuse(step.op);
    step.may_be_weak = model_.may_be_weak(step.op);
    step.named = model_.named(step.op);
    step.before = before_;
    note_bytes(step);
    model_.apply(step.op, step.answer.reply);
    step.histories = model_.expected();
    note_histories(step);
    step.after = before_ = *after;
  }

  bool is_left_out(EngineOp const& op,
                   std::vector<EngineOp> const& before,
                   HistoryModel const& model) const {
    return is_surprised_ && program_.avoids_all_but &&
           is_avoided(target_, *program_.avoids_all_but, op, before, model);
  }

  void note_bytes(EngineStep& step) {
    model::EngineKindInfo const& info = model::info_of(step.op.kind);
    if (info.has(model::kEntry) && step.answer.reply == Reply::kOk) {
      step.saved_bytes = saved_[step.op.entry];
      if (!info.is(model::kLoads)) {  // damage changes what there is to read
        saved_[step.op.entry] = info.is(model::kSaves) ? step.answer.number("bytes") : std::nullopt;
      }
    }
  }

  void note_histories(EngineStep& step) const {
    for (std::uint32_t s = 0; s < model_.sequences(); ++s) {
      model::EngineHistory const& history = model_.history(s);
      step.lost |= history.lost ? model::SequenceSet{1} << s : 0;
      if (!history.rows.empty() && !history.lost) {
        step.expected[s] = {static_cast<std::int32_t>(history.rows.front().position),
                            static_cast<std::int32_t>(history.rows.back().position)};
      }
    }
  }

  Target const& target_;
  model::Hello const& hello_;
  EngineProgram const& program_;
  EngineRun& run_;
  HistoryModel model_;
  std::vector<EngineOp> done_;  // that were sent and answered
  Positions before_;
  std::map<std::uint32_t, std::optional<std::uint64_t>> saved_;
  bool is_followed_ = true;
  bool is_surprised_ = false;  // an answer was not the likely one
};

}  // namespace

Session::Session(Target const& target) : target_{target} {}

model::Hello const& Session::hello() {
  if (!hello_) {
    start();
  }
  return *hello_;
}

void Session::restart() {
  if (process_) {
    last_said_ = process_->said();
  }
  process_.reset();
}

std::string Session::said() const {
  return process_ ? process_->said() : last_said_;
}

void Session::start() {
  process_ = std::make_unique<EngineProcess>(target_.command, target_.limits);
  ++counts_.starts;
  std::vector<std::string> lines;
  Trouble const trouble =
      process_->exchange("hello protocol=1\n", 1, [&](std::string_view line, bool& closed) {
        constexpr std::size_t kMostLines = 4096;
        std::string_view const word = line.substr(0, line.find(' '));
        closed = std::find(model::kReplyNames.begin(), model::kReplyNames.end(), word) !=
                     model::kReplyNames.end() &&
                 !(word == "weak" && line.find(" when=") != std::string_view::npos);
        lines.emplace_back(line);
        return std::string{lines.size() > kMostLines ? "hello does not end" : ""};
      });
  if (trouble.ending != Ending::kFine) {
    restart();
    throw model::InputError("target " + target_.name + ": hello was not answered: " + trouble.text);
  }
  if (!hello_) {  // it is the same program again; others hold on to what it said first
    model::Hello hello = model::parse_hello(lines);
    check_fits(target_, hello);
    hello_ = std::move(hello);
  }
}

Trouble Session::ask(std::string const& lines,
                     std::size_t count,
                     std::vector<EngineAnswer>& answers) {
  constexpr std::size_t kMostLogits = std::size_t{1} << 16U;
  if (!process_) {
    start();
  }
  EngineAnswer answer;
  Trouble trouble = process_->exchange(lines, count, [&](std::string_view line, bool& closed) {
    std::string fault = model::add_line(line, hello_->vocabulary, answer, closed);
    if (fault.empty() && answer.logits.size() > kMostLogits) {
      fault = "an answer has too many lines of logits";
    }
    if (closed && fault.empty()) {
      answers.push_back(std::move(answer));
      answer = {};
    }
    return fault;
  });
  if (trouble.ending != Ending::kFine) {
    restart();
  }
  return trouble;
}

Session::Key Session::key_of(std::uint32_t first,
                             std::uint32_t const* tokens,
                             std::size_t count) const {
  XXH128_hash_t const hash =
      XXH3_128bits_withSeed(tokens, count * sizeof(*tokens), knobs_seed_ ^ (first * 0x9E3779B1ULL));
  return {hash.high64, hash.low64};
}

std::optional<Logits> Session::cold(model::Knobs const& knobs,
                                    std::vector<std::uint32_t> const& tokens,
                                    std::uint32_t first) {
  std::vector<EngineAnswer> answers;
  Expected const history{first, tokens};
  Trouble const trouble =
      ask(reset_line({.knobs = knobs}) + cold_line(history, {tokens.size()}), 2, answers);
  bool const is_fine = trouble.ending == Ending::kFine && answers[1].logits.size() == 1;
  return is_fine ? std::optional{answers[1].logits.front()} : std::nullopt;
}

EngineRun Session::run(EngineProgram const& program, bool one_by_one) {
  EngineRun run;
  Follower follower{target_, hello(), program, run};
  std::vector<EngineAnswer> answers;
  auto const send = [&](std::string lines, std::size_t count, std::size_t end) {
    for (std::size_t i = run.steps.size(); i < end; ++i) {
      lines += line_of(program.ops[i], *hello_);
    }
    answers.clear();
    run.trouble = ask(lines, count + 2 * (end - run.steps.size()), answers);
  };
  send(reset_line(program), 1, one_by_one ? 0 : follower.piece_end());
  if (answers.empty()) {
    run.trouble.text = "while it was reset: " + run.trouble.text;
    return run;
  }
  run.refused_knobs = answers.front().reply == Reply::kRefused;
  if (run.refused_knobs) {
    return run;
  }
  answers.erase(answers.begin());
  follower.take(answers);
  while (!follower.is_over()) {
    std::size_t const end = follower.piece_end();
    if (end == run.steps.size()) {
      follower.skip();
      continue;
    }
    send("", 0, one_by_one ? run.steps.size() + 1 : end);
    follower.take(answers);
  }
  std::string const knobs = model::text_of(program.knobs);
  knobs_seed_ = XXH3_64bits(knobs.data(), knobs.size());
  Trouble const trouble = fetch(program, run);
  if (run.trouble.ending == Ending::kFine) {
    run.trouble = trouble;
  }
  return run;
}

/// Finds what logits must be, asking for what is not known yet.
Trouble Session::fetch(EngineProgram const& program, EngineRun& run) {
  if (known_.size() * hello_->vocabulary * sizeof(float) > kMostKnown) {
    known_.clear();
  }
  bool const is_new = !process_;
  std::string lines = is_new ? reset_line(program) : "";
  std::size_t count = 0;
  std::vector<Key> asked;
  Expected const* last = nullptr;
  std::vector<std::size_t> lengths;
  auto const flush = [&] {
    if (last != nullptr) {
      lines += cold_line(*last, lengths);
      ++count;
    }
    lengths.clear();
    last = nullptr;
  };
  for (EngineStep const& step : run.steps) {
    for (Expected const& history : step.histories) {
      if (history.tokens.empty()) {
        continue;
      }
      Key const key = key_of(history.first, history.tokens.data(), history.tokens.size());
      if (!known_.emplace(key, Logits{}).second) {
        ++counts_.cold_known;
        continue;
      }
      if (last != nullptr && !continues(history, *last)) {
        flush();
      }
      last = &history;
      lengths.push_back(history.tokens.size());
      asked.push_back(key);
    }
  }
  flush();
  counts_.cold_asked += asked.size();
  std::vector<EngineAnswer> answers;
  Trouble trouble = count == 0 ? Trouble{} : ask(lines, count + (is_new ? 1 : 0), answers);
  std::size_t next = 0;
  for (EngineAnswer& answer : answers) {
    for (Logits& logits : answer.logits) {
      if (next < asked.size()) {
        known_[asked[next++]] = std::move(logits);
      }
    }
  }
  if (trouble.ending == Ending::kFine && next != asked.size()) {
    trouble = {Ending::kProtocol, "'cold' has not as many lines of logits as were asked for"};
  }
  for (; next < asked.size(); ++next) {
    known_.erase(asked[next]);
  }
  for (EngineStep& step : run.steps) {
    for (Expected const& history : step.histories) {
      auto const found =
          history.tokens.empty()
              ? known_.end()
              : known_.find(key_of(history.first, history.tokens.data(), history.tokens.size()));
      step.want.push_back(found == known_.end() ? nullptr : &found->second);
    }
  }
  if (trouble.ending != Ending::kFine) {
    trouble.text = "asked for a history in a context of its own: " + trouble.text;
  }
  return trouble;
}

}  // namespace holdfast::fuzz
