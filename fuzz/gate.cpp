// SPDX-License-Identifier: Apache-2.0
// The pool of processes, what they say, and the report for continuous integration.
#include "fuzz/gate.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "fuzz/child.hpp"
#include "fuzz/markup.hpp"

namespace holdfast::fuzz {
namespace {

/// A part that runs.
struct Running {
  std::size_t part = 0;  // index in the plan
  pid_t process = -1;
  int pipe = -1;
  std::string heard;  // the begin of a line
  bool in_case = false;
  double begun = 0;
  std::vector<GateCase> cases;
};

class Pool {
 public:
  explicit Pool(GatePlan const& plan) : plan_{plan}, cases_(plan.parts.size()) {}

  std::vector<GateCase> run() {
    std::size_t next = 0;
    while (next < plan_.parts.size() || !running_.empty()) {
      if (is_stopped()) {
        stop();
        break;
      }
      while (next < plan_.parts.size() && running_.size() < std::max(plan_.jobs, 1U)) {
        start(next++);
      }
      wait();
      tell(nullptr);
    }
    std::vector<GateCase> all;
    for (std::vector<GateCase>& part : cases_) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

 private:
  [[nodiscard]] bool is_stopped() const { return plan_.should_stop && plan_.should_stop(); }

  void stop() {
    for (Running& one : running_) {
      close(one.pipe);
      end_child(one.process);
      if (one.in_case) {
        one.cases.back().skipped = "interrupted";
      }
      cases_[one.part] = std::move(one.cases);
    }
    running_.clear();
  }

  void tell(GateCase const* done) const {
    if (plan_.on_progress) {
      plan_.on_progress(done);
    }
  }

  void start(std::size_t index) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      throw std::system_error{errno, std::generic_category(), "pipe"};
    }
    pid_t const process = start_child([&] {
      close(ends[0]);
      GateVoice voice{ends[1], plan_.hang_seconds};
      plan_.parts[index].check(voice);
      return 0;
    });
    close(ends[1]);
    running_.push_back({.part = index, .process = process, .pipe = ends[0]});
  }

  void wait() {
    constexpr int kMilliseconds = 500;
    std::vector<pollfd> ready;
    for (Running const& one : running_) {
      ready.push_back({.fd = one.pipe, .events = POLLIN, .revents = 0});
    }
    if (poll(ready.data(), ready.size(), kMilliseconds) <= 0 || is_stopped()) {
      return;  // what an interrupted program says last is no finding
    }
    for (std::size_t i = running_.size(); i-- > 0;) {
      if (ready[i].revents != 0 && !listen(running_[i])) {
        bury(running_[i]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  /// False once the process has closed its end.
  bool listen(Running& one) {
    char buffer[4096];
    ssize_t const got = read(one.pipe, buffer, sizeof buffer);
    if (got <= 0) {
      return got < 0 && errno == EINTR;
    }
    one.heard.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = one.heard.find('\n'); end != std::string::npos;
         end = one.heard.find('\n')) {
      hear(one, nlohmann::json::parse(one.heard.substr(0, end)));
      one.heard.erase(0, end + 1);
    }
    return true;
  }

  void hear(Running& one, nlohmann::json const& said) {
    if (said.contains("begin")) {
      one.in_case = true;
      one.begun = plan_.now();
      one.cases.push_back({.part = plan_.parts[one.part].name,
                           .name = said.at("begin").get<std::string>(),
                           .reproduce = said.at("reproduce").get<std::string>()});
      return;
    }
    if (std::string const better = said.at("reproduce").get<std::string>(); !better.empty()) {
      one.cases.back().reproduce = better;
    }
    finish(one, said.at("end").get<std::string>());
  }

  void finish(Running& one, std::string const& failure) {
    one.in_case = false;
    one.cases.back().failure = failure;
    one.cases.back().seconds = plan_.now() - one.begun;
    tell(&one.cases.back());
  }

  void bury(Running& one) {
    close(one.pipe);
    int const status = wait_for_child(one.process);
    if (one.in_case) {
      finish(one, end_of(status));
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      one.cases.push_back({.part = plan_.parts[one.part].name, .name = "process"});
      one.begun = plan_.now();
      finish(one, end_of(status));
    }
    cases_[one.part] = std::move(one.cases);
  }

  [[nodiscard]] std::string end_of(int status) const {
    if (!WIFSIGNALED(status)) {
      return fmt::format("ended with exit code {} in the middle", WEXITSTATUS(status));
    }
    return WTERMSIG(status) == SIGALRM ? fmt::format("did not end within {} s", plan_.hang_seconds)
                                       : fmt::format("crashed with signal {}", WTERMSIG(status));
  }

  GatePlan const& plan_;
  std::vector<std::vector<GateCase>> cases_;
  std::vector<Running> running_;
};

/// As markup_text, for XML 1.0, which has no way to write most control characters.
std::string xml_text(std::string_view text) {
  std::string out;
  for (char const letter : markup_text(text)) {
    auto const code = static_cast<unsigned char>(letter);
    if (letter == '\n') {
      out += "&#10;";
    } else {
      out += code < 0x20 || code >= 0x7F ? '?' : letter;
    }
  }
  return out;
}

std::string case_xml(GateCase const& one) {
  std::string const begin =
      fmt::format("    <testcase classname=\"holdfast.gate.{}\" name=\"{}\" time=\"{:.3f}\"",
                  xml_text(one.part),
                  xml_text(one.name),
                  one.seconds);
  if (!one.skipped.empty()) {
    return begin + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                               xml_text(one.skipped));
  }
  if (one.failure.empty()) {
    return begin + "/>\n";
  }
  std::string const first = one.failure.substr(0, one.failure.find('\n'));
  return begin + fmt::format(
                     ">\n      <failure message=\"{}\">{}&#10;reproduce with:&#10;{}"
                     "</failure>\n    </testcase>\n",
                     xml_text(first),
                     xml_text(one.failure),
                     xml_text(one.reproduce));
}

std::string suite_xml(std::vector<GateCase> const& cases, std::string const& part) {
  std::string body;
  int tests = 0;
  int failures = 0;
  int skipped = 0;
  double seconds = 0;
  for (GateCase const& one : cases) {
    if (one.part == part) {
      body += case_xml(one);
      ++tests;
      failures += one.failure.empty() ? 0 : 1;
      skipped += one.skipped.empty() ? 0 : 1;
      seconds += one.seconds;
    }
  }
  return fmt::format(
             "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
             "time=\"{:.3f}\">\n",
             xml_text(part),
             tests,
             failures,
             skipped,
             seconds) +
         body + "  </testsuite>\n";
}

}  // namespace

void GateVoice::begin(std::string const& name, std::string const& reproduce) {
  say(nlohmann::json{{"begin", name}, {"reproduce", reproduce}}.dump(-1, ' ', true));
  alarm(hang_seconds_);
}

void GateVoice::go_on() const {
  alarm(hang_seconds_);
}

void GateVoice::end(std::string const& failure, std::string const& reproduce) {
  alarm(0);
  say(nlohmann::json{{"end", failure}, {"reproduce", reproduce}}.dump(
      -1, ' ', true, nlohmann::json::error_handler_t::replace));
}

void GateVoice::say(std::string const& line) const {
  std::string const text = line + "\n";
  for (std::string_view left = text; !left.empty();) {
    ssize_t const written = write(pipe_, left.data(), left.size());
    if (written < 0 && errno != EINTR) {
      throw std::system_error{errno, std::generic_category(), "pipe"};
    }
    left.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

std::vector<GateCase> run_gate(GatePlan const& plan) {
  return Pool{plan}.run();
}

std::string junit_of(std::vector<GateCase> const& cases, double seconds) {
  std::vector<std::string> parts;
  std::size_t failures = 0;
  for (GateCase const& one : cases) {
    failures += one.failure.empty() ? 0U : 1U;
    if (std::find(parts.begin(), parts.end(), one.part) == parts.end()) {
      parts.push_back(one.part);
    }
  }
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"holdfast gate\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
      "time=\"{:.3f}\">\n",
      cases.size(),
      failures,
      seconds);
  for (std::string const& part : parts) {
    text += suite_xml(cases, part);
  }
  return text + "</testsuites>\n";
}

}  // namespace holdfast::fuzz
