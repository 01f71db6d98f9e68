// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/protocol_check.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "fuzz/target/engine_generator.hpp"
#include "models/input_error.hpp"

namespace holdfast::fuzz {
namespace {

using model::Reply;

constexpr std::size_t kMostFaults = 20;

/// A line with everything that came back.
struct Asked {
  std::string line;
  std::vector<std::string> answer;
  Trouble trouble;
};

/// How it was closed; `error` when it was not.
Reply reply_of(Asked const& asked) {
  std::string const last = asked.answer.empty() ? "" : asked.answer.back();
  auto const found = std::find(
      model::kReplyNames.begin(), model::kReplyNames.end(), last.substr(0, last.find(' ')));
  return asked.trouble.ending != Ending::kFine || found == model::kReplyNames.end()
             ? Reply::kError
             : static_cast<Reply>(found - model::kReplyNames.begin());
}

class Checker {
 public:
  Checker(Target const& target, ProtocolReport& report) : target_{target}, report_{report} {}

  void check_hello() {
    Asked const asked = ask("hello protocol=1", true);
    if (asked.trouble.ending != Ending::kFine) {
      complain(asked, asked.trouble.text);
    } else {
      try {
        report_.hello = model::parse_hello(asked.answer);
      } catch (model::InputError const& error) {
        complain(asked, error.what());
      }
    }
    for (std::string const& line : report_.hello.unknown) {
      complain({asked.line, {line}, {}}, "this line of hello is not known");
    }
  }

  /// What one program is answered with; faults are noted the first time.
  std::vector<std::string> run(EngineProgram const& program, bool first) {
    std::vector<std::string> all;
    auto const say = [&](std::string const& line) {
      Asked asked = ask(line, false);
      if (first) {
        look(asked);
      }
      all.insert(all.end(), asked.answer.begin(), asked.answer.end());
      return asked;
    };
    std::string const knobs = model::text_of(program.knobs);
    if (reply_of(say("reset " + knobs + (knobs.empty() ? "" : " ") + "seed=1")) != Reply::kOk) {
      return all;
    }
    model::HistoryModel model{report_.hello, program.knobs};
    for (model::EngineOp const& op : program.ops) {
      if (!model.makes_sense(op)) {
        continue;
      }
      Asked const asked = say(model::wire_of(op, report_.hello.vocabulary));
      if (reply_of(asked) == Reply::kError) {
        return all;
      }
      model.apply(op, reply_of(asked));
      if (reply_of(say("positions")) == Reply::kError) {
        return all;
      }
    }
    std::string const positions = all.back();
    say("cold tokens=1.2!.3.1!");
    Asked const after = say("positions");
    if (first && after.trouble.ending == Ending::kFine && after.answer.back() != positions) {
      complain(after, "cold changed positions");
    }
    return all;
  }

  void check_unknown_line() {
    Asked const asked = ask("no_such_line sequence=s0", false);
    if (asked.trouble.ending != Ending::kFine || asked.answer.back().rfind("error", 0) != 0) {
      complain(asked, "a line that the adapter cannot know is answered with 'error ...'");
    }
  }

  void restart() { process_.reset(); }
  [[nodiscard]] bool is_done(std::string const& word) const { return done_.count(word) != 0; }
  void complain(Asked const& asked, std::string const& what) {
    if (report_.faults.size() < kMostFaults) {
      std::string answer;
      for (std::string const& line : asked.answer) {
        answer += (answer.empty() ? "" : " | ") + line.substr(0, 120);
      }
      report_.faults.push_back({asked.line, answer, what});
    }
  }

 private:
  Asked ask(std::string const& line, bool is_hello) {
    if (!process_) {
      process_ = std::make_unique<EngineProcess>(target_.command, target_.limits);
      if (!is_hello) {
        static_cast<void>(ask("hello protocol=1", true));
      }
    }
    Asked asked{.line = line};
    ++report_.lines;
    asked.trouble = process_->exchange(line + "\n", 1, [&](std::string_view text, bool& closed) {
      std::string_view const word = text.substr(0, text.find(' '));
      bool const closes = std::find(model::kReplyNames.begin(), model::kReplyNames.end(), word) !=
                          model::kReplyNames.end();
      closed = closes && !(is_hello && word == "weak");
      asked.answer.emplace_back(text);
      bool const known = closes || is_hello || word == "bits" || word == "logits";
      return std::string{known ? "" : "no line of an answer begins like this"};
    });
    if (asked.trouble.ending != Ending::kFine) {
      process_.reset();
    }
    return asked;
  }

  /// Form of one answer.
  void look(Asked const& asked) {
    if (asked.trouble.ending != Ending::kFine) {
      complain(asked, asked.trouble.text);
      return;
    }
    model::EngineAnswer answer;
    for (std::string const& line : asked.answer) {
      bool closed = false;
      std::string const fault = model::add_line(line, report_.hello.vocabulary, answer, closed);
      if (!fault.empty()) {
        complain(asked, fault);
        return;
      }
    }
    std::string const word = asked.line.substr(0, asked.line.find(' '));
    bool const is_done = answer.reply == model::Reply::kOk || answer.reply == model::Reply::kWeak;
    if (is_done) {
      done_.insert(word);
    }
    auto const wanted =
        static_cast<std::size_t>(std::count(asked.line.begin(), asked.line.end(), '!'));
    if (is_done && answer.logits.size() != wanted) {
      complain(asked,
               std::to_string(answer.logits.size()) + " lines of logits, and " +
                   std::to_string(wanted) + " '!' in the line");
    }
    if (word == "positions" &&
        (!is_done || !model::parse_positions(answer.rest, report_.hello.sequences))) {
      complain(asked, "positions are answered with 'ok s0=FIRST..LAST ...'");
    }
    if (word == "save" && is_done && !answer.number("bytes")) {
      complain(asked, "save is answered with 'ok bytes=N promised=N'");
    }
    if (word == "cold" && answer.reply != model::Reply::kOk) {
      complain(asked, "cold is answered with logits and 'ok'");
    }
  }

  Target const& target_;
  ProtocolReport& report_;
  std::unique_ptr<EngineProcess> process_;
  std::set<std::string> done_;
};

}  // namespace

ProtocolReport check_protocol(Target const& target,
                              std::uint32_t programs,
                              std::function<bool()> const& should_stop) {
  ProtocolReport report;
  Checker checker{target, report};
  checker.check_hello();
  if (!report.faults.empty() && report.hello.vocabulary == 0) {
    return report;
  }
  EngineGenerator const generator{report.hello, target, ""};
  for (std::uint32_t i = 0; i < programs && !should_stop(); ++i) {
    EngineProgram const program = generator.program(model::mix(1, i));
    std::vector<std::string> const once = checker.run(program, true);
    if (i % 4 == 0) {
      checker.restart();
    }
    if (checker.run(program, false) != once) {
      checker.complain({"", {}, {}},
                       "program " + std::to_string(i) + " (" + std::to_string(program.ops.size()) +
                           " operations, " + model::text_of(program.knobs) +
                           ") was not answered in the same way twice");
    }
    ++report.programs;
  }
  checker.check_unknown_line();
  for (std::uint32_t kind = 0; kind < model::kEngineKindCount; ++kind) {
    auto const known = static_cast<model::EngineKind>(kind);
    if (report.hello.has(known) && !checker.is_done(model::info_of(known).name)) {
      report.never_done.emplace_back(model::info_of(known).name);
    }
  }
  return report;
}

}  // namespace holdfast::fuzz
