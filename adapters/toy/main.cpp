// SPDX-License-Identifier: Apache-2.0
// The toy engine behind the engine protocol (docs/PROTOCOL.md): a complete adapter.
//
//   holdfast-toy [--bug NAME]     answers lines until its input ends
//   holdfast-toy --list           the seeded bugs: name, oracle, blamed operation, text, separated by tabs
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "adapters/toy/engine.hpp"

namespace toy {
namespace {

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

/// One line, its words and its fields.
class Line {
 public:
  explicit Line(std::string_view text) : text_{text} {}

  [[nodiscard]] std::string_view word() const { return text_.substr(0, text_.find(' ')); }
  [[nodiscard]] std::string_view field(std::string_view name) const {
    for (std::size_t at = text_.find(' '); at != std::string_view::npos; at = text_.find(' ', at)) {
      std::string_view const rest = text_.substr(++at);
      if (rest.size() > name.size() && rest.substr(0, name.size()) == name &&
          rest[name.size()] == '=') {
        std::string_view const value = rest.substr(name.size() + 1);
        return value.substr(0, value.find(' '));
      }
    }
    return {};
  }
  [[nodiscard]] std::uint32_t number(std::string_view name, std::uint32_t fallback = 0) const {
    std::string_view const text = field(name);
    std::uint32_t value = fallback;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  /// s3, e3 or h3: 3.
  [[nodiscard]] std::uint32_t name(std::string_view field_name) const {
    std::string_view const text = field(field_name);
    std::uint32_t value = 0;
    if (text.size() > 1) {
      std::from_chars(text.data() + 1, text.data() + text.size(), value);
    }
    return value;
  }
  [[nodiscard]] std::uint32_t sequence(std::string_view field_name = "sequence") const {
    return name(field_name) % kSequences;
  }

 private:
  std::string_view text_;
};

/// "17.4!.9!"
void add_tokens(std::string_view text, std::uint32_t sequence, std::vector<BatchRow>& batch) {
  char const* at = text.data();
  char const* const end = at + text.size();
  while (at < end) {
    BatchRow row{.sequence = sequence};
    at = std::from_chars(at, end, row.token).ptr;
    row.wanted = at < end && *at == '!';
    at += row.wanted ? 2 : 1;
    batch.push_back(row);
  }
}

/// "s0:17.4!,s1:9!"
void add_items(std::string_view text, std::vector<BatchRow>& batch) {
  while (!text.empty()) {
    std::string_view const item = text.substr(0, text.find(','));
    std::size_t const colon = item.find(':');
    std::uint32_t sequence = 0;
    std::from_chars(item.data() + 1, item.data() + colon, sequence);
    add_tokens(item.substr(colon + 1), sequence % kSequences, batch);
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
}

class Adapter {
 public:
  explicit Adapter(Bug bug) : bug_{bug} {}

  /// Answers one line.
  void answer(std::string_view text) {
    Line const line{text};
    std::string_view const word = line.word();
    if (word == "hello") {
      out_ += kHello;
    } else if (word == "reset") {
      reset(line);
    } else if (word == "positions") {
      positions();
    } else if (word == "cold") {
      batch_.clear();
      logits_.clear();
      add_tokens(line.field("tokens"), 0, batch_);
      engine_.cold(batch_, line.number("first"), logits_);
      close(Answer::kOk);
    } else if (!answer_bytes(word, line)) {
      std::optional<Answer> const done = operate(word, line);
      if (done) {
        close(*done);
      } else {
        out_ += "error no such line: " + std::string{text} + "\n";
      }
    }
  }

  void flush() {
    for (std::size_t at = 0; at < out_.size();) {
      ssize_t const wrote = write(STDOUT_FILENO, out_.data() + at, out_.size() - at);
      if (wrote <= 0) {
        break;
      }
      at += static_cast<std::size_t>(wrote);
    }
    out_.clear();
  }

 private:
  void reset(Line const& line) {
    Knobs knobs;
    knobs.unified = line.number("unified", 1);
    knobs.ubatch = line.number("ubatch", 16);
    knobs.depth = line.number("depth", 0);
    knobs.whole = line.number("whole", 1);
    engine_ = Engine{knobs, bug_};
    entries_.clear();
    out_ += "ok\n";
  }

  void positions() {
    out_ += "ok";
    for (std::uint32_t s = 0; s < kSequences; ++s) {
      std::vector<Row> const& rows = engine_.sequence(s).rows;
      if (!rows.empty()) {
        out_ += " s" + std::to_string(s) + "=" + std::to_string(rows.front().position) + ".." +
                std::to_string(rows.back().position);
      }
    }
    out_ += "\n";
  }

  /// Operations on saved bytes; false when it is none.
  bool answer_bytes(std::string_view word, Line const& line) {
    std::uint32_t const name = line.name("entry");
    if (word == "save" || word == "save_all" || word == "save_part") {
      Bytes bytes;
      std::uint32_t promised = 0;
      if (word == "save") {
        promised = engine_.save(line.sequence(), bytes);
      } else if (word == "save_all") {
        promised = engine_.save_all(bytes);
      } else {
        engine_.save_part(line.sequence(), bytes);
        promised = static_cast<std::uint32_t>(bytes.size());
      }
      out_ += "ok bytes=" + std::to_string(bytes.size()) + " promised=" + std::to_string(promised) +
              "\n";
      entries_[name] = bytes;
      return true;
    }
    if (word != "load" && word != "load_all" && word != "load_part" && word != "damage") {
      return false;
    }
    auto const found = entries_.find(name);
    if (found == entries_.end()) {
      close(Answer::kRefused);
    } else if (word == "damage") {
      damage(line, found->second);
      out_ += "ok\n";
    } else {
      Answer const done = word == "load"       ? engine_.load(found->second, line.sequence())
                          : word == "load_all" ? engine_.load_all(found->second)
                                               : engine_.load_part(found->second, line.sequence());
      if (done == Answer::kOk) {
        out_ += "ok bytes=" + std::to_string(found->second.size()) + "\n";
      } else {
        close(done);
      }
    }
    return true;
  }

  static void damage(Line const& line, Bytes& bytes) {
    if (!line.field("cut").empty()) {
      bytes.resize(bytes.size() - line.number("cut") % (bytes.size() + 1));
    } else if (!bytes.empty()) {
      std::size_t const bit = line.number("flip") % (8 * bytes.size());
      bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ (1U << (bit % 8)));
    }
  }

  std::optional<Answer> operate(std::string_view word, Line const& line) {
    batch_.clear();
    logits_.clear();
    std::uint32_t const sequence = line.sequence();
    std::uint32_t const first = line.number("first", 0);
    std::uint32_t const end = line.number("end", kNoBound);
    if (word == "decode") {
      add_items(line.field("items"), batch_);
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
      return engine_.copy(sequence, line.sequence("to"));
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
        out_ += "all sequences were cleared\n";
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

  void close(Answer answer) {
    if (answer == Answer::kRefused) {
      out_ += "refused reason=no\n";
      return;
    }
    constexpr char kDigits[] = "0123456789abcdef";
    for (Logits const& logits : logits_) {
      out_ += "bits";
      for (float const value : logits) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        char text[9] = {' '};
        for (int digit = 8; digit > 0; --digit) {
          text[digit] = kDigits[bits & 15U];
          bits >>= 4U;
        }
        out_.append(text, sizeof(text));
      }
      out_ += '\n';
    }
    logits_.clear();
    out_ += answer == Answer::kWeak ? "weak\n" : "ok\n";
  }

  Bug bug_;
  Engine engine_{{}, bug_};
  std::map<std::uint32_t, Bytes> entries_;
  std::vector<BatchRow> batch_;
  std::vector<Logits> logits_;
  std::string out_;
};

int serve(Bug bug) {
  Adapter adapter{bug};
  std::string input;
  std::vector<char> buffer(1U << 16U);
  for (;;) {
    ssize_t const got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got <= 0) {
      return 0;
    }
    input.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = input.find('\n'); end != std::string::npos;
         end = input.find('\n', begin)) {
      adapter.answer(std::string_view{input}.substr(begin, end - begin));
      begin = end + 1;
    }
    input.erase(0, begin);
    adapter.flush();
  }
}

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
  return serve(static_cast<Bug>(chosen));
}
