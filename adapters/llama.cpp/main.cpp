// SPDX-License-Identifier: Apache-2.0
// llama.cpp behind the engine protocol of docs/PROTOCOL.md: reads lines, answers lines, judges nothing.
#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/llama.cpp/engine.hpp"
#include "adapters/llama.cpp/tiny_models.hpp"
#include "ggml-backend.h"
#include "llama.h"

namespace holdfast::llama_cpp {

namespace {

// A line that this adapter does not understand; the text says why.
struct Misread {
  std::string why;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

template <typename Number>
Number parse(std::string_view text) {
  Number value = {};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Misread{"not a number: " + std::string(text)};
  }
  return value;
}

// A line: its first word, and fields by name.
class Line {
 public:
  explicit Line(std::string_view text) : words_(split(text, ' ')) {}

  std::string_view word() const { return words_.front(); }

  std::optional<std::string_view> find(std::string_view name) const {
    for (std::size_t i = 1; i < words_.size(); ++i) {
      const std::string_view word = words_[i];
      if (word.size() > name.size() && word.substr(0, name.size()) == name &&
          word[name.size()] == '=') {
        return word.substr(name.size() + 1);
      }
    }
    return std::nullopt;
  }

  std::string_view get(std::string_view name) const {
    auto const value = find(name);
    if (!value) {
      throw Misread{"no field " + std::string(name)};
    }
    return *value;
  }

  template <typename Number>
  Number number(std::string_view name, Number otherwise) const {
    auto const value = find(name);
    return value ? parse<Number>(*value) : otherwise;
  }

  int sequence(std::string_view name) const { return sequence_of(get(name)); }
  int entry() const { return parse<int>(without(get("entry"), 'e')); }
  Range range() const { return {number<llama_pos>("first", -1), number<llama_pos>("end", -1)}; }

  static int sequence_of(std::string_view text) {
    int const id = parse<int>(without(text, 's'));
    if (id < 0 || id >= kSequences) {
      throw Misread{"no such sequence: " + std::string(text)};
    }
    return id;
  }

 private:
  static std::string_view without(std::string_view text, char prefix) {
    if (text.empty() || text.front() != prefix) {
      throw Misread{"not a name: " + std::string(text)};
    }
    return text.substr(1);
  }

  std::vector<std::string_view> words_;
};

// `17.4!.9`: ids, each with `!` behind it when its logits are wanted.
void read_tokens(std::string_view text, int sequence, std::vector<Row>& rows) {
  for (std::string_view word : split(text, '.')) {
    bool const wants_logits = !word.empty() && word.back() == '!';
    if (wants_logits) {
      word.remove_suffix(1);
    }
    const llama_token token = parse<llama_token>(word);
    if (token < 0 || token >= static_cast<llama_token>(kVocabulary)) {
      throw Misread{"no such token: " + std::string(word)};
    }
    rows.push_back({sequence, token, wants_logits});
  }
}

std::vector<Row> read_items(std::string_view text) {
  std::vector<Row> rows;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t colon = item.find(':');
    if (colon == item.npos) {
      throw Misread{"not sequence:tokens: " + std::string(item)};
    }
    read_tokens(item.substr(colon + 1), Line::sequence_of(item.substr(0, colon)), rows);
  }
  return rows;
}

void print_logits(Logits const& logits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string line = "bits";
  for (float const value : logits) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    line += ' ';
    for (int shift = 28; shift >= 0; shift -= 4) {
      line += kDigits[(bits >> static_cast<unsigned>(shift)) & 15U];
    }
  }
  std::cout << line << '\n';
}

void print(Answer const& answer) {
  for (Logits const& logits : answer.logits) {
    print_logits(logits);
  }
  switch (answer.kind) {
    case Answer::Kind::kOk:
      std::cout << "ok" << (answer.text.empty() ? "" : " ") << answer.text << '\n';
      return;
    case Answer::Kind::kWeak:
      std::cout << "weak\n";
      return;
    case Answer::Kind::kRefused:
      std::cout << "refused reason=" << answer.text << '\n';
      return;
  }
}

class Adapter {
 public:
  explicit Adapter(std::vector<Architecture const*> offered) : offered_(std::move(offered)) {}

  void answer(std::string_view text) {
    try {
      const Line line(text);
      if (line.word() == "hello") {
        hello(line);
      } else if (line.word() == "reset") {
        is_reset_ = false;
        const Answer answer = engine_.reset(knobs(line));
        is_reset_ = answer.kind == Answer::Kind::kOk;
        print(answer);
      } else if (!is_reset_) {
        throw Misread{"reset comes first"};
      } else {
        print(operate(line));
      }
    } catch (Misread const& misread) {
      std::cout << "error " << misread.why << '\n';
    }
  }

 private:
  void hello(Line const& line);
  Knobs knobs(Line const& line) const;
  Answer operate(Line const& line);
  Answer operate_on_entry(Line const& line);

  std::vector<Architecture const*> offered_;
  Engine engine_;
  bool is_reset_ = false;
};

// What llama.h promises, as conditions of refusals. Of llama_decode it says: "1 - could not find a KV slot
// for the batch". Of loads no more than "Zero: Failed to load", and not what is left of the sequence.
constexpr std::string_view kPromises = R"(legal decode when=full
weak load when=full
weak load_part when=full
weak load_all when=full
weak load when=damaged
weak load_part when=damaged
weak load_all when=damaged
)";

// Of llama_memory_seq_rm: "Returns false if a partial sequence cannot be removed. Removing a whole sequence
// never fails". Only a state cannot be shortened. Rows that the next one does not see may leave a window:
// with as many rows as the window has, the first one. Also where the cache is large enough for all rows, others may
// take their cells, and saved bytes have none of them; llama_memory_seq_pos_min tells.
void print_promises_of(Architecture const& architecture) {
  for (char const* operation : {"remove", "remove_every"}) {
    if (architecture.has_state()) {
      std::cout << "legal " << operation << " when=partial architecture=" << architecture.name
                << '\n';
    }
    if (architecture.has(kWindowed)) {
      std::cout << "weak " << operation << " when=window:" << kWindow - 1
                << " architecture=" << architecture.name << '\n';
    }
  }
  if (architecture.has(kFixed)) {
    std::cout << "legal shift when=any architecture=" << architecture.name << '\n';
  }
}

void Adapter::hello(Line const& line) {
  if (line.number<int>("protocol", 0) < 1) {
    std::cout << "refused reason=version\n";
    return;
  }
  std::cout << "engine name=llama.cpp version=" << llama_version()
            << "\nlimits vocabulary=" << kVocabulary << " sequences=" << kSequences
            << " context=" << kContext << " batch=" << kBatch << '\n';
  for (char const* operation : {"decode",
                                "remove",
                                "remove_every",
                                "copy",
                                "keep",
                                "shift",
                                "clear",
                                "save",
                                "load",
                                "save_all",
                                "load_all",
                                "save_part",
                                "load_part",
                                "damage"}) {
    std::cout << "operation " << operation << '\n';
  }
  std::cout << "knob architecture=";
  for (Architecture const* architecture : offered_) {
    std::cout << (architecture == offered_.front() ? "" : ",") << architecture->name;
  }
  std::cout << "\nknob unified=0,1\nknob micro_batch=64,8,16,4,1\nknob rollback=0,4,1\n"
            << "knob whole_window=0,1\nedge window=" << kWindow
            << "\nedge micro_batch=micro_batch\n"
            << "edge rollback=rollback\n";
  std::cout << kPromises;
  for (Architecture const* architecture : offered_) {
    print_promises_of(*architecture);
  }
  std::cout << "ok protocol=1\n";
}

Knobs Adapter::knobs(Line const& line) const {
  Knobs knobs;
  knobs.architecture = offered_.front();
  if (auto const name = line.find("architecture")) {
    knobs.architecture = find_architecture(*name);
    if (knobs.architecture == nullptr) {
      throw Misread{"no such architecture: " + std::string(*name)};
    }
  }
  knobs.micro_batch = line.number<std::uint32_t>("micro_batch", kBatch);
  knobs.rollback = line.number<std::uint32_t>("rollback", 0);
  knobs.unified = line.number<int>("unified", 0) != 0;
  knobs.whole_window = line.number<int>("whole_window", 0) != 0;
  return knobs;
}

Answer Adapter::operate(Line const& line) {
  const std::string_view word = line.word();
  if (word == "positions") {
    return engine_.positions();
  }
  if (word == "cold") {
    std::vector<Row> rows;
    read_tokens(line.get("tokens"), 0, rows);
    return engine_.cold(rows, line.number<llama_pos>("first", 0));
  }
  if (word == "decode") {
    return engine_.decode(read_items(line.get("items")));
  }
  if (word == "remove") {
    return engine_.remove(line.sequence("sequence"), line.range());
  }
  if (word == "remove_every") {
    return engine_.remove_every(line.range());
  }
  if (word == "copy") {
    return engine_.copy(line.sequence("sequence"), line.sequence("to"));
  }
  if (word == "keep") {
    return engine_.keep(line.sequence("sequence"));
  }
  if (word == "shift") {
    return engine_.shift(line.sequence("sequence"), line.range(), parse<llama_pos>(line.get("by")));
  }
  if (word == "clear") {
    return engine_.clear();
  }
  return operate_on_entry(line);
}

Answer Adapter::operate_on_entry(Line const& line) {
  const std::string_view word = line.word();
  if (word == "save" || word == "save_part") {
    return engine_.save(line.sequence("sequence"), line.entry(), word == "save_part");
  }
  if (word == "load" || word == "load_part") {
    return engine_.load(line.sequence("sequence"), line.entry(), word == "load_part");
  }
  if (word == "save_all") {
    return engine_.save(std::nullopt, line.entry(), false);
  }
  if (word == "load_all") {
    return engine_.load(std::nullopt, line.entry(), false);
  }
  if (word == "damage") {
    return line.find("cut") ? engine_.cut(line.entry(), line.number<std::uint64_t>("cut", 0))
                            : engine_.flip(line.entry(), line.number<std::uint64_t>("flip", 0));
  }
  throw Misread{"no such line: " + std::string(word)};
}

// Back ends that are libraries of their own lie beside the one that is linked.
void load_back_ends() {
  if (ggml_backend_reg_count() > 0) {
    return;
  }
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void const*>(&llama_backend_init), &info) == 0) {
    return;
  }
  const std::string path = info.dli_fname;
  ggml_backend_load_all_from_path(path.substr(0, path.rfind('/')).c_str());
}

void log_errors(ggml_log_level level, char const* text, void*) {
  if (level >= GGML_LOG_LEVEL_ERROR) {
    std::fputs(text, stderr);
  }
}

int serve(std::vector<Architecture const*> offered) {
  setenv("GGML_NO_BACKTRACE", "1", 1);
  llama_log_set(log_errors, nullptr);
  load_back_ends();
  llama_backend_init();
  std::ios::sync_with_stdio(false);
  Adapter adapter(std::move(offered));
  std::string line;
  while (std::getline(std::cin, line)) {
    adapter.answer(line);
    if (std::cin.rdbuf()->in_avail() <= 0) {
      std::cout.flush();
    }
  }
  std::cout.flush();
  return 0;
}

}  // namespace

}  // namespace holdfast::llama_cpp

// Architectures to offer, or none for all: `llama_cpp_adapter gemma3 lfm2`.
int main(int argc, char** argv) {
  using namespace holdfast::llama_cpp;
  std::vector<Architecture const*> offered;
  for (int i = 1; i < argc; ++i) {
    offered.push_back(find_architecture(argv[i]));
    if (offered.back() == nullptr) {
      std::cerr << "no such architecture: " << argv[i] << '\n';
      return 2;
    }
  }
  if (offered.empty()) {
    for (Architecture const& architecture : architectures()) {
      offered.push_back(&architecture);
    }
  }
  return serve(std::move(offered));
}
