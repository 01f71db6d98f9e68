// SPDX-License-Identifier: Apache-2.0
// The toy engine behind the engine protocol (docs/PROTOCOL.md): a complete adapter.
//
//   holdfast-toy [--bug NAME]     answers lines until its input ends
//   holdfast-toy --list           the seeded bugs: name, oracle, blamed operation, text, separated by tabs
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "adapters/lines.hpp"
#include "adapters/toy/engine.hpp"

namespace toy {
namespace {

using namespace holdfast::adapters;

struct BugInfo {
  char const* name;
  char const* oracle;
  char const* blamed;
  char const* text;
};

constexpr BugInfo kBugs[] = {
#define HOLDFAST_TOY_BUG(name, oracle, blamed, text) {#name, oracle, blamed, text},
#include "adapters/toy/bugs.def"
};

constexpr char const* kHello =
    "engine name=toy version=1.0\n"
    "limits vocabulary=64 sequences=4 context=128 batch=32\n"
    "operation decode\noperation draft\noperation remove\noperation remove_every\noperation copy\n"
    "operation keep\noperation shift\noperation clear\noperation save\noperation load\n"
    "operation save_all\noperation load_all\noperation save_part\noperation load_part\n"
    "operation damage\noperation snapshot\noperation rollback\noperation fork\n"
    "operation drop_snapshot\n"
    "knob unified=1,0\nknob ubatch=16,4\nknob depth=0,4\nknob whole=1,0\n"
    "edge window=8\nedge micro_batch=ubatch\nedge pool=4\n"
    "legal decode when=full\nlegal draft when=full\n"
    "legal remove when=middle\nlegal remove when=deeper:depth\n"
    "legal remove_every when=middle\nlegal remove_every when=deeper:depth\n"
    "legal shift when=partial\n"
    "legal load when=damaged\nlegal load_all when=damaged\nlegal load_part when=damaged\n"
    "legal fork when=live\n"
    "weak remove when=window:8 whole=0\nweak remove_every when=window:8 whole=0\n"
    "ok protocol=1\n";

std::uint32_t sequence_of(Line const& line, std::string_view field = "sequence") {
  return line.name(field) % kSequences;
}

class Adapter {
 public:
  explicit Adapter(Bug bug) : bug_{bug} {}

  /// Adds the answer to one line.
  void answer(std::string_view text, std::string& out) {
    Line const line{text};
    std::string_view const word = line.word();
    if (word == "hello") {
      out += kHello;
    } else if (word == "reset") {
      reset(line, out);
    } else if (word == "positions") {
      positions(out);
    } else if (word == "cold") {
      batch_.clear();
      logits_.clear();
      add_tokens(line.field("tokens"), 0, batch_);
      engine_.cold(batch_, line.number("first"), logits_);
      close(Answer::kOk, out);
    } else if (!answer_bytes(word, line, out)) {
      std::optional<Answer> const done = operate(word, line, out);
      if (done) {
        close(*done, out);
      } else {
        out += "error no such line: " + std::string{text} + "\n";
      }
    }
  }

 private:
  void reset(Line const& line, std::string& out) {
    Knobs knobs;
    knobs.unified = line.number("unified", 1);
    knobs.ubatch = line.number("ubatch", 16);
    knobs.depth = line.number("depth", 0);
    knobs.whole = line.number("whole", 1);
    engine_ = Engine{knobs, bug_};
    entries_.clear();
    out += "ok\n";
  }

  void positions(std::string& out) {
    out += "ok";
    for (std::uint32_t s = 0; s < kSequences; ++s) {
      std::vector<Row> const& rows = engine_.sequence(s).rows;
      if (!rows.empty()) {
        out += " s" + std::to_string(s) + "=" + std::to_string(rows.front().position) + ".." +
               std::to_string(rows.back().position);
      }
    }
    out += "\n";
  }

  /// Operations on saved bytes; false when it is none.
  bool answer_bytes(std::string_view word, Line const& line, std::string& out) {
    std::uint32_t const name = line.name("entry");
    if (word == "save" || word == "save_all" || word == "save_part") {
      Bytes bytes;
      std::uint32_t promised = 0;
      if (word == "save") {
        promised = engine_.save(sequence_of(line), bytes);
      } else if (word == "save_all") {
        promised = engine_.save_all(bytes);
      } else {
        engine_.save_part(sequence_of(line), bytes);
        promised = static_cast<std::uint32_t>(bytes.size());
      }
      out += "ok bytes=" + std::to_string(bytes.size()) + " promised=" + std::to_string(promised) +
             "\n";
      entries_[name] = bytes;
      return true;
    }
    if (word != "load" && word != "load_all" && word != "load_part" && word != "damage") {
      return false;
    }
    auto const found = entries_.find(name);
    if (found == entries_.end()) {
      close(Answer::kRefused, out);
    } else if (word == "damage") {
      damage(line, found->second);
      out += "ok\n";
    } else {
      Answer const done = word == "load" ? engine_.load(found->second, sequence_of(line))
                          : word == "load_all"
                              ? engine_.load_all(found->second)
                              : engine_.load_part(found->second, sequence_of(line));
      if (done == Answer::kOk) {
        out += "ok bytes=" + std::to_string(found->second.size()) + "\n";
      } else {
        close(done, out);
      }
    }
    return true;
  }

  std::optional<Answer> operate(std::string_view word, Line const& line, std::string& out) {
    batch_.clear();
    logits_.clear();
    std::uint32_t const sequence = sequence_of(line);
    std::uint32_t const first = line.number("first", 0);
    std::uint32_t const end = line.number("end", kNoBound);
    if (word == "decode") {
      add_items(line.field("items"), batch_);
      for (BatchRow& row : batch_) {
        row.sequence %= kSequences;
      }
      return engine_.decode(batch_, logits_);
    }
    if (word == "draft") {
      add_tokens(line.field("tokens"), sequence, batch_);
      return engine_.draft(batch_, line.number("keep"), logits_);
    }
    if (word == "remove") {
      return engine_.remove(sequence, first, end);
    }
    if (word == "remove_every") {
      return engine_.remove_every(first, end);
    }
    if (word == "copy") {
      return engine_.copy(sequence, sequence_of(line, "to"));
    }
    if (word == "keep") {
      return engine_.keep(sequence);
    }
    if (word == "shift") {
      std::string_view const by = line.field("by");
      std::int32_t delta = 0;
      std::from_chars(by.data(), by.data() + by.size(), delta);
      return engine_.shift(sequence, delta, first, end);
    }
    if (word == "clear") {
      if (bug_ == Bug::babbles) {
        out += "all sequences were cleared\n";
      }
      return engine_.clear();
    }
    return operate_snapshot(word, sequence, line.name("snapshot"));
  }

  std::optional<Answer> operate_snapshot(std::string_view word,
                                         std::uint32_t sequence,
                                         std::uint32_t snapshot) {
    if (word == "snapshot") {
      return engine_.snapshot(sequence, snapshot);
    }
    if (word == "rollback") {
      return engine_.rollback(sequence, snapshot);
    }
    if (word == "fork") {
      return engine_.fork(snapshot, sequence);
    }
    if (word == "drop_snapshot") {
      return engine_.drop_snapshot(snapshot);
    }
    return std::nullopt;
  }

  void close(Answer answer, std::string& out) {
    if (answer == Answer::kRefused) {
      out += "refused reason=no\n";
      return;
    }
    for (Logits const& logits : logits_) {
      add_bits(logits, out);
    }
    logits_.clear();
    out += answer == Answer::kWeak ? "weak\n" : "ok\n";
  }

  Bug bug_;
  Engine engine_{{}, bug_};
  std::map<std::uint32_t, Bytes> entries_;
  std::vector<BatchRow> batch_;
  std::vector<Logits> logits_;
};

}  // namespace
}  // namespace toy

int main(int argc, char** argv) {
  using namespace toy;
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (BugInfo const& bug : kBugs) {
      std::printf("%s\t%s\t%s\t%s\n", bug.name, bug.oracle, bug.blamed, bug.text);
    }
    return 0;
  }
  std::uint8_t chosen = 0;
  if (argc == 3 && std::strcmp(argv[1], "--bug") == 0) {
    for (std::uint8_t i = 0; i < std::size(kBugs); ++i) {
      chosen = std::strcmp(argv[2], kBugs[i].name) == 0 ? static_cast<std::uint8_t>(i + 1) : chosen;
    }
  }
  if (argc > 1 && chosen == 0) {
    std::fprintf(stderr, "usage: %s [--bug NAME | --list]\n", argv[0]);
    return 2;
  }
  Adapter adapter{static_cast<Bug>(chosen)};
  serve([&](std::string_view line, std::string& out) { adapter.answer(line, out); });
  return 0;
}
