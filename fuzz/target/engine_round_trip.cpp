// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/engine_round_trip.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "fuzz/clock.hpp"
#include "models/input_error.hpp"

namespace holdfast::fuzz {
namespace {

constexpr std::uint32_t kDecodesOfAReset =
    16;  // so that no engine is full, and all times are of short histories

/// Answers of an adapter, one line asked at a time.
class Asker {
 public:
  explicit Asker(Target const& target) : process_{target.command, target.limits} {
    std::vector<std::string> lines;
    exchange("hello protocol=1\n", [&](std::string_view line, bool& closed) {
      lines.emplace_back(line);
      closed = line.rfind("ok", 0) == 0 || line.rfind("error", 0) == 0;
      return std::string{};
    });
    hello_ = model::parse_hello(lines);
  }

  [[nodiscard]] std::uint32_t vocabulary() const { return hello_.vocabulary; }

  /// Bytes of the answer. Throws InputError when it is not ok.
  std::uint64_t ask(std::string const& line) {
    model::EngineAnswer answer;
    std::uint64_t bytes = 0;
    exchange(line, [&](std::string_view text, bool& closed) {
      bytes += text.size() + 1;
      return model::add_line(text, hello_.vocabulary, answer, closed);
    });
    if (answer.reply != model::Reply::kOk) {
      throw model::InputError{"the adapter does not do " + model::quoted(line)};
    }
    return bytes;
  }

 private:
  void exchange(std::string const& text, EngineProcess::OnLine const& on_line) {
    Trouble const trouble = process_.exchange(text, 1, on_line);
    if (trouble.ending != Ending::kFine) {
      throw model::InputError{trouble.text};
    }
  }

  EngineProcess process_;
  model::Hello hello_;
};

void echo(EngineProcess& cat, std::string const& line) {
  Trouble const trouble = cat.exchange(line, 1, [](std::string_view, bool& closed) {
    closed = true;
    return std::string{};
  });
  if (trouble.ending != Ending::kFine) {
    throw model::InputError{"cat: " + trouble.text};
  }
}

template <typename Deed>
void keep_shortest(double& shortest, Deed const& deed) {
  Clock::time_point const start = Clock::now();
  deed();
  shortest = std::min(shortest, seconds_since(start));
}

}  // namespace

RoundTrip time_round_trip(Target const& target, std::uint32_t count, double seconds) {
  Asker engine{target};
  EngineProcess cat{{"cat"}, target.limits};
  constexpr double kLongest = std::numeric_limits<double>::max();
  RoundTrip trip{
      .decode_seconds = kLongest, .echo_seconds = kLongest, .logits = engine.vocabulary()};
  Clock::time_point const start = Clock::now();
  for (std::uint32_t i = 0; i < count && (i == 0 || seconds_since(start) < seconds); ++i) {
    if (i % kDecodesOfAReset == 0) {
      engine.ask("reset seed=1\n");
    }
    keep_shortest(trip.decode_seconds, [&] { trip.bytes = engine.ask("decode items=s0:1!\n"); });
    std::string bytes(trip.bytes, '0');
    bytes.back() = '\n';
    keep_shortest(trip.echo_seconds, [&] { echo(cat, bytes); });
  }
  return trip;
}

}  // namespace holdfast::fuzz
