// SPDX-License-Identifier: Apache-2.0
// Holdfast's own library behind the engine protocol (docs/PROTOCOL.md).
//
//   holdfast-adapter                  answers lines until its input ends
//   holdfast-adapter --mutant NAME    the same over the library with this seeded bug
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "adapters/holdfast/engine.hpp"
#include "models/input_error.hpp"

// Found only in the mutant build of the library.
extern "C" {
[[gnu::weak]] bool holdfast_select_mutant(char const* name);
}

namespace holdfast::adapters {
namespace {

constexpr char const* kHello =
    "engine name=holdfast version=" HOLDFAST_VERSION
    "\n"
    "limits vocabulary=64 sequences=4 context=256 batch=32\n"
    "operation decode\noperation draft\noperation remove\noperation copy\noperation keep\n"
    "operation clear\noperation save\noperation load\noperation damage\noperation snapshot\n"
    "operation rollback\noperation fork\noperation drop_snapshot\n"
    "knob "
    "geometry=tiny,tiny-rows,tiny-ring,tiny-draft,tiny-held,tiny-formats,tiny-ranks,tiny-tight\n"
    "knob state=columns,in_place,rescan\n"
    "knob write=calls,views,whole\n"
    "knob padding=0,2\nknob lag=0,2\nknob tries=0,1\nknob prefix=0,1\nknob pages=ample,scarce\n"
    "knob page=narrow,wide\n"
    "edge page=4\nedge chunk=8\nedge ring=12\nedge ring_of_two_pages=16\n"
    "legal decode when=full\nlegal decode when=longer:64\nlegal decode when=any pages=scarce\n"
    "legal draft when=full\nlegal draft when=longer:64\nlegal draft when=any pages=scarce\n"
    "legal remove when=partial\n"  // where a plane has a state, or a ring without the rows
    "legal save when=empty\n"
    "legal load when=damaged\nlegal load when=any pages=scarce\n"
    "legal fork when=live\n"
    "ok protocol=1\n";

/// The settings of a line of `reset`. Throws InputError.
Settings settings_of(Line const& line) {
  auto const pick = [&](std::string_view name, std::initializer_list<std::string_view> values) {
    std::string_view const text = line.field(name);
    std::uint32_t index = 0;
    for (std::string_view const value : values) {
      if (text == value || text.empty()) {
        return index;
      }
      ++index;
    }
    throw model::InputError(std::string{name});
  };
  Settings settings;
  if (!line.field("geometry").empty()) {
    settings.geometry = line.field("geometry");
  }
  settings.state = static_cast<model::StateMode>(pick("state", {"columns", "in_place", "rescan"}));
  settings.writing = static_cast<Writing>(pick("write", {"calls", "views", "whole"}));
  settings.padding = 2 * pick("padding", {"0", "2"});
  settings.lag = 2 * pick("lag", {"0", "2"});
  settings.tries = pick("tries", {"0", "1"}) != 0;
  settings.prefix = pick("prefix", {"0", "1"}) != 0;
  settings.scarce = pick("pages", {"ample", "scarce"}) != 0;
  settings.wide = pick("page", {"narrow", "wide"}) != 0;
  return settings;
}

class Adapter {
 public:
  Adapter() { start({}); }

  void answer(std::string_view text, std::string& out) {
    Line const line{text};
    std::string_view const word = line.word();
    if (word == "hello") {
      out += kHello;
    } else if (word == "reset") {
      reset(line, out);
    } else if (word == "positions") {
      positions(out);
    } else if (!answer_bytes(word, line, out)) {
      logits_.clear();
      batch_.clear();
      std::optional<Status> const done = operate(word, line);
      if (done) {
        close(*done, out);
      } else {
        out += "error no such line: " + std::string{text} + "\n";
      }
    }
  }

 private:
  static std::uint32_t sequence_of(Line const& line, std::string_view field = "sequence") {
    return line.name(field) % kSlots;
  }

  void start(Settings const& settings) {
    auto known = geometries_.find(settings);
    if (known == geometries_.end()) {
      known = geometries_.emplace(settings, geometry_of(settings)).first;
    }
    engine_ = std::make_unique<Engine>(settings, known->second);
  }

  void reset(Line const& line, std::string& out) {
    try {
      start(settings_of(line));
      out += "ok\n";
    } catch (model::InputError const& error) {
      std::fprintf(stderr, "%s\n", error.what());
      out += "refused reason=knobs\n";
    }
  }

  void positions(std::string& out) const {
    out += "ok";
    for (std::uint32_t s = 0; s < kSlots; ++s) {
      if (auto const last = engine_->last_position(s)) {
        out += " s" + std::to_string(s) + "=0.." + std::to_string(*last);
      }
    }
    out += "\n";
  }

  /// Operations on saved bytes; false when it is none.
  bool answer_bytes(std::string_view word, Line const& line, std::string& out) {
    std::uint32_t const entry = line.name("entry");
    if (word == "damage") {
      std::vector<std::byte>* const bytes = engine_->bytes(entry);
      if (bytes != nullptr) {
        damage(line, *bytes);
      }
      out += bytes == nullptr ? "refused reason=entry\n" : "ok\n";
      return true;
    }
    if (word != "save" && word != "load") {
      return false;
    }
    auto const done = word == "save" ? engine_->save(sequence_of(line), entry)
                                     : engine_->load(entry, sequence_of(line));
    if (!done) {
      close(done.error(), out);
      return true;
    }
    out += "ok bytes=" + std::to_string(done->bytes);
    out += word == "save" ? " promised=" + std::to_string(done->promised) + "\n" : "\n";
    return true;
  }

  std::optional<Status> operate(std::string_view word, Line const& line) {
    std::uint32_t const sequence = sequence_of(line);
    if (word == "decode") {
      add_items(line.field("items"), batch_);
      return engine_->decode(batch_, logits_);
    }
    if (word == "draft") {
      add_tokens(line.field("tokens"), sequence, batch_);
      return engine_->draft(batch_, line.number("keep"), logits_);
    }
    if (word == "cold") {
      add_tokens(line.field("tokens"), 0, batch_);
      engine_->cold(batch_, logits_);
      return Status{};
    }
    if (word == "remove") {
      return engine_->remove(sequence, line.number("first"), line.number("end", UINT32_MAX));
    }
    if (word == "copy") {
      return engine_->copy(sequence, sequence_of(line, "to"));
    }
    if (word == "keep" || word == "clear") {
      engine_->empty_all_but(word == "keep" ? sequence : kSlots);
      return Status{};
    }
    return operate_snapshot(word, sequence, line.name("snapshot"));
  }

  std::optional<Status> operate_snapshot(std::string_view word,
                                         std::uint32_t sequence,
                                         std::uint32_t snapshot) {
    if (word == "snapshot") {
      return engine_->snapshot(sequence, snapshot);
    }
    if (word == "rollback") {
      return engine_->rollback(sequence, snapshot);
    }
    if (word == "fork") {
      return engine_->fork(snapshot, sequence);
    }
    if (word == "drop_snapshot") {
      engine_->drop_snapshot(snapshot);
      return Status{};
    }
    return std::nullopt;
  }

  void close(Status const& status, std::string& out) {
    if (!status) {
      out += "refused reason=" + std::string{name_of(status.error().code)} + "\n";
      return;
    }
    for (Logits const& logits : logits_) {
      add_bits(logits, out);
    }
    out += "ok\n";
  }

  std::map<Settings, model::Geometry> geometries_;  // that were read
  std::unique_ptr<Engine> engine_;
  std::vector<BatchRow> batch_;
  std::vector<Logits> logits_;
};

}  // namespace
}  // namespace holdfast::adapters

int main(int argc, char** argv) {
  using namespace holdfast::adapters;
  std::string_view const word = argc > 1 ? argv[1] : "";
  if (word == "--mutant" && argc == 3 && holdfast_select_mutant == nullptr) {
    char path[4096];
    ssize_t const size = readlink("/proc/self/exe", path, sizeof path - 1);
    std::string const twin =
        std::string{path, static_cast<std::size_t>(std::max<ssize_t>(size, 0))} + "-mutants";
    execv(twin.c_str(), argv);
    std::perror(twin.c_str());
    return 3;
  }
  bool const is_chosen = word == "--mutant" && argc == 3 && holdfast_select_mutant(argv[2]);
  if (argc > 1 && !is_chosen) {
    std::fprintf(stderr, "usage: %s [--mutant NAME], a name of holdfast list mutants\n", argv[0]);
    return 2;
  }
  Adapter adapter;
  serve([&](std::string_view line, std::string& out) { adapter.answer(line, out); });
  return 0;
}
