// SPDX-License-Identifier: Apache-2.0
// Goal: every sub-command helps, speaks JSON, answers mistakes in one line, suggests what was meant, and
// ends cleanly when it is interrupted. Method: tables with rows for each command, beside the list that
// the program itself gives (holdfast manual --json): a command without rows fails.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

constexpr char const* kTrace =
    "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=s0\n"
    "append sequence=s0 rows=5 token=1 piece=0 view=0\n";
// Five rows are kept, four more accepted, and a snapshot of two planes forgets the latent ones.
constexpr char const* kFailing =
    "holdfast-trace 1\ngeometry glm5-next-mini\ndevice host\ncreate sequence=s0\n"
    "append sequence=s0 rows=5 token=1 piece=0 view=0\n"
    "snapshot sequence=s0 snapshot=h0\n"
    "verify sequence=s0 rows=4 written=4 token=6 piece=0 view=0\n"
    "accept sequence=s0 keep=4\n"
    "rollback sequence=s0 snapshot=h0\n";

/// A command line that is wrong; the exit code, and what the one line must say.
struct Refusal {
  char const* words;
  int code;
  char const* says;
};

struct Row {
  char const* json;                ///< words with which --json gives an object, exit code 0
  std::vector<Refusal> not_json;   ///< where an object makes no sense
  std::vector<Refusal> bad_names;  ///< unknown names
  std::vector<Refusal> bad_files;  ///< what cannot be read or written
  std::vector<Refusal> bad_rest;   ///< numbers out of range, words too many or too few
};

std::map<std::string, Row> const& rows() {
  static std::map<std::string, Row> const table = {
      {"run",
       {"--geometry tiny --ops 100",
        {},
        {{"--geometry tinny", 2, "did you mean \"tiny\"?"},
         {"--mutant half_stp", 2, "did you mean \"half_step\"?"},
         {"--flavor mixx", 2, "did you mean \"mix\"?"}},
        {{"--geometry missing.json", 2, "missing.json: "},
         {"--geometry ./folder.json", 2, "folder.json: "},
         {"--ops 9 --save nowhere/x", 3, "nowhere/x: cannot be written"}},
        {{"--ops 0", 2, "--ops: '0' is no whole number from 1"},
         {"--geometry tiny --seconds 0.000001", 2, "run: no operation was done"},
         {"--threads 1025", 2, "--threads: '1025'"},
         {"--seed 18446744073709551616", 2, "--seed: '18446744073709551616'"}}}},
      {"mutants",
       {"--only half_step",
        {{"--markdown --json", 2, "--markdown and --json exclude each other"}},
        {{"--only half_stp", 2, "did you mean \"half_step\"?"},
         {"--search swarn", 2, "did you mean \"swarm\"?"}},
        {{"--geometry missing.json", 2, "missing.json: "},
         {"--only half_step --markdown", 2, "corpus/regression: cannot be read"}},
        {{"--repeat 1001", 2, "--repeat: '1001'"}, {"--ops 1e6", 2, "--ops: '1e6'"}}}},
      {"replay",
       {"good.trace",
        {},
        {{"good.trace --mutant half_stp", 2, "did you mean \"half_step\"?"},
         {"good.trace --device hots", 2, "did you mean \"host\"?"},
         {"unknown.trace", 2, "unknown.trace:2:10: "}},
        {{"missing.trace", 2, "missing.trace: "},
         {"hollow", 2, "hollow: the folder has no"},
         {"good.trace missing.trace", 2, "missing.trace: "}},
        {{"large.trace", 2, "large.trace:5:25: "}, {"", 2, "replay needs a trace file"}}}},
      {"minimize",
       {"failing.trace --mutant two_plane_snapshot",
        {},
        {{"failing.trace --mutant half_stp", 2, "did you mean \"half_step\"?"},
         {"unknown.trace", 2, "unknown.trace:2:10: "}},
        {{"missing.trace", 2, "missing.trace: "},
         {"failing.trace -o nowhere/x", 3, "nowhere/x: cannot be written"}},
        {{"large.trace", 2, "large.trace:5:25: "},
         {"good.trace failing.trace", 2, "minimize needs one trace file"}}}},
      {"explain",
       {"failing.trace --mutant two_plane_snapshot",
        {{"good.trace --text --json", 2, "--text writes no page; it goes without --json"}},
        {{"good.trace --mutant half_stp", 2, "did you mean \"half_step\"?"},
         {"unknown.trace", 2, "unknown.trace:2:10: "}},
        {{"missing.trace", 2, "missing.trace: "},
         {"good.trace -o nowhere/x.html", 3, "nowhere/x.html: cannot be written"}},
        {{"large.trace", 2, "large.trace:5:25: "}, {"", 2, "explain needs one trace file"}}}},
      {"fuzz",
       {"--targets swarm --seed 1 --for 1s --dir c",
        {},
        {{"--targets swarn", 2, "did you mean \"swarm\"?"},
         {"--mutant half_stp", 2, "did you mean \"half_step\"?"}},
        {{"--targets swarm --seeds missing", 2, "missing: cannot be read"},
         {"--targets swarm --dir good.trace", 3, "good.trace"},
         {"--collect missing --dir all", 2, "missing"}},
        {{"--for 9x", 2, "--for: '9x' is no duration"},
         {"--workers 0", 2, "--workers: '0'"},
         {"--timeout 0s", 2, "--timeout: '0s'"}}}},
      {"gate",
       {"--only canary --seed 1",
        {},
        {{"--only canari", 2, "did you mean \"canary\"?"},
         {"--mutant half_stp", 2, "did you mean \"half_step\"?"}},
        {{"--seed 1 --corpus missing", 2, "missing: cannot be read"},
         {"--seed 1 --corpus bad", 2, "bad/large.trace:5:25: "},
         {"--seed 1 --junit nowhere/x", 3, "nowhere/x: cannot be written"}},
        {{"--budget 0s", 2, "--budget: '0s'"}, {"--seed xyz", 2, "--seed: 'xyz'"}}}},
      {"coverage",
       {"--exhaustive 1",
        {},
        {{"--exhaustiv 1", 2, "did you mean \"--exhaustive\"?"},
         {"--replay unknown.trace", 2, "did you mean \"tiny\"?"}},
        {{"missing.json", 2, "missing.json: cannot be read"},
         {"good.trace", 2, "good.trace"},
         {"--exhaustive 1 -o nowhere/x", 3, "nowhere/x: cannot be written"}},
        {{"--exhaustive 7", 2, "--exhaustive: '7' is no whole number from 1 to 6"},
         {"", 2, "coverage needs a file"}}}},
      {"list",
       {"",
        {{"invariants --markdown --json", 2, "and is no JSON"}},
        {{"mutant", 2, "did you mean \"mutants\"?"}, {"--jsn", 2, "did you mean \"--json\"?"}},
        {{"> /dev/full", 3, "standard output cannot be written"}},
        {{"mutants flavors", 2, "unexpected 'flavors' after list"}}}},
      {"doctor",
       {"",
        {},
        {{"--jsno", 2, "did you mean \"--json\"?"}},
        {{"> /dev/full", 3, "standard output cannot be written"}},
        {{"everything", 2, "unexpected 'everything' after doctor"}}}},
      {"target",
       {"check toy.json --programs 2",
        {},
        {{"chek toy.json", 2, "target needs a deed; known: check"}},
        {{"check missing.json", 2, "missing.json: "},
         {"check unknown.json", 2, "did you mean \"command\"?"},
         {"check ./missing", 2, "cannot run './missing'"}},
        {{"", 2, "target needs a deed"},
         {"check", 2, "target check needs a target file"},
         {"check toy.json --programs 0", 2, "--programs: '0'"}}}},
      {"manual",
       {"",
        {{"completion --json", 2, "goes without 'completion'"}},
        {{"pag", 2, "did you mean \"page\"?"}},
        {{"> /dev/full", 3, "standard output cannot be written"}},
        {{"page completion", 2, "unexpected 'completion' after manual"}}}},
  };
  return table;
}

class Manners : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    Outcome const outcome = shell("holdfast manual --json");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    manual_ = Json::parse(outcome.out);
    std::string const head = "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=s0\n";
    write("good.trace", kTrace);
    write("failing.trace", kFailing);
    write("unknown.trace", "holdfast-trace 1\ngeometry tinny\ndevice host\ncreate sequence=s0\n");
    std::string const large = head + "append sequence=s0 rows=4294967296 token=1\n";
    write("large.trace", large);
    write("toy.json", R"({"name": "toy", "command": ["holdfast-toy"]})");
    write("unknown.json", R"({"name": "toy", "command": ["holdfast-toy"], "comand": []})");
    fs::create_directory(path("bad"));
    write("bad/large.trace", large);
    fs::create_directory(path("hollow"));
    fs::create_directory(path("folder.json"));
  }
  [[nodiscard]] Json const& commands() const { return manual_.at("commands"); }
  void refuses(std::string const& name, std::vector<Refusal> const& refusals) const {
    for (Refusal const& one : refusals) {
      expect_refusal(one.code, "holdfast " + name + " " + one.words, one.says);
    }
  }

  Json manual_;
};

TEST_F(Manners, EveryCommandHasRows) {
  std::set<std::string> of_program;
  for (Json const& command : commands()) {
    of_program.insert(command.at("name").get<std::string>());
  }
  std::set<std::string> of_table;
  for (auto const& [name, row] : rows()) {
    of_table.insert(name);
    EXPECT_GE(row.bad_names.size(), 1U) << name;
    EXPECT_GE(row.bad_files.size(), 1U) << name;
    EXPECT_GE(row.bad_rest.size(), 1U) << name;
  }
  EXPECT_EQ(of_table, of_program) << "a command needs a row, and a row a command";
}

TEST_F(Manners, EveryCommandHelps) {
  std::string const all = shell("holdfast --help").out;
  for (Json const& command : commands()) {
    auto const name = command.at("name").get<std::string>();
    auto const purpose = command.at("purpose").get<std::string>();
    EXPECT_NE(all.find(name), std::string::npos) << name;
    EXPECT_NE(all.find(purpose), std::string::npos) << purpose;
    Outcome const outcome = shell("holdfast " + name + " --help");
    EXPECT_EQ(outcome.code, 0) << name;
    EXPECT_EQ(outcome.err, "") << name;
    EXPECT_EQ(lines_of(outcome.out).at(0), purpose);
    EXPECT_NE(outcome.out.find("Usage: holdfast " + name + " "), std::string::npos) << outcome.out;
    EXPECT_GE(command.at("examples").size(), 2U) << name;
    for (Json const& example : command.at("examples")) {
      auto const line = example.at("line").get<std::string>();
      EXPECT_NE(outcome.out.find("\n  " + line + " "), std::string::npos) << line;
      EXPECT_EQ(line.rfind("holdfast " + name, 0) == 0 || name == "coverage", true) << line;
    }
  }
  EXPECT_EQ(shell("holdfast --version").out.rfind("holdfast 0.", 0), 0U);
}

// What would take hours or minutes is asked for less.
std::string quick(std::string line) {
  std::vector<std::pair<std::string, std::string>> const changes = {
      {"--for 8h", "--for 1s --targets swarm"},
      {"gate --budget 5m", "gate --budget 1s --only canary"}};
  for (auto const& [from, to] : changes) {
    if (std::size_t const at = line.find(from); at != std::string::npos) {
      line.replace(at, from.size(), to);
    }
  }
  return line;
}

TEST_F(Manners, ExamplesRun) {
  fs::create_directory_symlink(HOLDFAST_SOURCE_DIR "/corpus", path("corpus"));
  for (Json const& command : commands()) {
    auto const name = command.at("name").get<std::string>();
    for (Json const& example : command.at("examples")) {
      std::string const line = quick(example.at("line").get<std::string>());
      // A seeded bug is found; what looks at it afterwards does its work.
      bool const fails =
          (name == "run" || name == "replay") && line.find("--mutant") != std::string::npos;
      Outcome const outcome = shell(line);
      EXPECT_EQ(outcome.code, fails ? 1 : 0) << line << "\n" << outcome.out << outcome.err;
    }
  }
}

TEST_F(Manners, EveryCommandSpeaksJson) {
  for (auto const& [name, row] : rows()) {
    Outcome const outcome = shell("holdfast " + name + " " + row.json + " --json");
    EXPECT_EQ(outcome.code, 0) << name << "\n" << outcome.err;
    EXPECT_EQ(outcome.err, "") << name;
    EXPECT_TRUE(Json::accept(outcome.out)) << name << "\n" << outcome.out;
    EXPECT_EQ(outcome.out.substr(0, 1), "{") << name;
    refuses(name, row.not_json);
  }
}

TEST_F(Manners, UnknownNamesAreRefusedInOneLine) {
  for (auto const& [name, row] : rows()) {
    refuses(name, row.bad_names);
  }
}

TEST_F(Manners, FilesThatCannotBeUsedAreRefusedInOneLine) {
  for (auto const& [name, row] : rows()) {
    refuses(name, row.bad_files);
  }
}

TEST_F(Manners, NumbersAndWordsThatDoNotFitAreRefusedInOneLine) {
  for (auto const& [name, row] : rows()) {
    refuses(name, row.bad_rest);
  }
}

TEST_F(Manners, SuggestsWhatWasMeant) {
  for (Json const& command : commands()) {
    auto const name = command.at("name").get<std::string>();
    expect_refusal(2, "holdfast " + name + "x", "did you mean \"" + name + "\"?");
    for (Json const& word : command.at("words")) {
      auto const option = word.at("name").get<std::string>();
      if (word.at("is_option").get<bool>()) {
        expect_refusal(2,
                       "holdfast " + name + " --" + option[2] + option.substr(2),
                       "did you mean \"" + option + "\"?");
      }
      // One of the names that it may have is enough: all are compared alike.
      if (!word.at("known").empty() && word.at("value") != Json()) {
        auto const known = word.at("known").at(0).get<std::string>();
        expect_refusal(
            2,
            "holdfast " + name + " " + option + " " + known + "x" +
                (name == "replay" || name == "minimize" || name == "explain" ? " good.trace" : ""),
            "did you mean \"" + known + "\"?");
      }
    }
  }
}

/// Long work, and the file that holds what was done when it was interrupted.
struct Long {
  char const* words;
  char const* file;
};

constexpr Long kLong[] = {
    {"run --geometry tiny --seconds 100 --coverage seen.json", "seen.json"},
    {"mutants --repeat 100", nullptr},
    {"replay $(yes " HOLDFAST_SOURCE_DIR "/corpus | head -n 400)", nullptr},
    {"gate --seed 1 --corpus " HOLDFAST_SOURCE_DIR "/corpus --junit gate.xml", "gate.xml"},
    {"coverage --exhaustive 6 -o known.json", "known.json"},
    {"fuzz --seed 1 --targets swarm --for 100s --dir c", "c/report.html"},
};

TEST_F(Manners, EndsCleanlyWhenInterrupted) {
  for (Long const& one : kLong) {
    for (auto const& [signal, code] : std::map<std::string, int>{{"INT", 130}, {"TERM", 143}}) {
      static_cast<void>(shell("rm -rf c seen.json gate.xml known.json"));
      std::string const line =
          "timeout --preserve-status -s " + signal + " 1 holdfast " + one.words;
      Outcome const outcome = shell(line);
      EXPECT_EQ(outcome.code, code) << line << "\n" << outcome.out << outcome.err;
      EXPECT_EQ(outcome.err, "") << line;
      EXPECT_NE(outcome.out.find("interrupted"), std::string::npos) << line << "\n" << outcome.out;
      if (one.file != nullptr) {
        EXPECT_FALSE(content_of(path(one.file)).empty()) << line;
      }
    }
    if (std::string{one.words}.rfind("fuzz", 0) != 0) {  // that one prints its report
      Outcome const outcome = shell("timeout --preserve-status -s INT 1 holdfast " +
                                    std::string{one.words} + " --json");
      EXPECT_EQ(outcome.code, 130) << one.words;
      EXPECT_EQ(Json::parse(outcome.out).at("interrupted"), true) << one.words;
    }
  }
}

TEST_F(Manners, AnInterruptedMinimizeKeepsWhatItHas) {
  // A cache so large that every candidate takes its time.
  std::string text = kFailing;
  std::string const geometry = "glm5-next-mini";
  text.replace(text.find(geometry), geometry.size(), geometry + " tokens=1000000");
  write("slow.trace", text);
  Outcome const outcome = shell(
      "timeout --preserve-status -s INT 0.5 holdfast minimize slow.trace --mutant "
      "two_plane_snapshot -o small.trace");
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("interrupted: 6 operations -> ", 0), 0U) << outcome.out;
  EXPECT_EQ(shell("holdfast replay small.trace --mutant two_plane_snapshot").code, 1);
}

TEST_F(Manners, AClosedTerminalEndsItUnlessSomebodySaidNo) {
  std::string const hang_up = "timeout --preserve-status -s HUP 1 ";
  Outcome const closed = shell(hang_up + "holdfast run --geometry tiny --seconds 100");
  EXPECT_EQ(closed.code, 129) << closed.err;
  EXPECT_NE(closed.out.find("interrupted after "), std::string::npos) << closed.out;
  Outcome const kept = shell(hang_up + "nohup holdfast run --geometry tiny --seconds 2 --json");
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_EQ(Json::parse(kept.out).at("interrupted"), false);
}

TEST_F(Manners, WhatWasFoundCountsMoreThanAnInterrupt) {
  // The campaign meets the bug at once, and is stopped long after.
  Outcome const outcome = shell(
      "timeout --preserve-status -s INT 4 holdfast fuzz --seed 1 --targets swarm --for 100s "
      "--dir c --mutant birth_not_zeroed");
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("interrupted; --resume goes on"), std::string::npos) << outcome.out;
}

TEST_F(Manners, AnInterruptOfTheWholeGroupIsNoFinding) {
  // As a terminal does it: all processes at once, those that judge candidates and cases too.
  for (char const* words : {"gate --seed 1 --only exhaustive --only mutants", "mutants"}) {
    std::string const line = "setsid sh -c 'trap : INT; holdfast " + std::string{words} +
                             " --json & sleep 1; trap \"\" INT; kill -INT 0; wait $!; echo "
                             "\"code $?\" >&2'";
    Outcome const outcome = shell(line);
    EXPECT_EQ(outcome.err, "code 130\n") << words;
    Json const json = Json::parse(outcome.out);
    EXPECT_EQ(json.at("interrupted"), true) << words;
    EXPECT_EQ(json.value("failed", 0), 0) << json.dump(2);
    EXPECT_TRUE(json.value("survivors", Json::array()).empty()) << json.dump(2);
    for (Json const& kill : json.value("kills", Json::array())) {
      // A library that lets a sequence into a step twice may crash by itself.
      EXPECT_TRUE(kill.at("invariants") != Json({"CRASH"}) || kill.at("mutant") == "twice_in_step")
          << kill;
    }
  }
}

/// What a command writes to a terminal of a kind.
class Terminal : public Manners {
 protected:
  [[nodiscard]] std::string seen(std::string const& environment, std::string const& command) const {
    Outcome const outcome = shell("env -u NO_COLOR " + environment + " script -qec '" + command +
                                  "' /dev/null </dev/null");
    EXPECT_NE(outcome.out, "") << outcome.err;
    return outcome.out;
  }
};

TEST_F(Terminal, ColourIsForTerminalsThatWantIt) {
  if (shell("command -v script").code != 0) {
    GTEST_SKIP() << "script(1) of bsdutils is not there";
  }
  std::string const green = "\x1b[32mok\x1b[0m";
  std::string const red = "\x1b[1;31mholdfast:\x1b[0m unknown command";
  std::string const plain = "good.trace: ok, 2 operations";
  std::string const command = "holdfast replay good.trace; holdfast relpay";
  std::string const coloured = seen("TERM=xterm", command);
  EXPECT_NE(coloured.find(green), std::string::npos) << coloured;
  EXPECT_NE(coloured.find(red), std::string::npos) << coloured;
  for (char const* environment : {"TERM=xterm NO_COLOR=1", "TERM=dumb", "-u TERM"}) {
    std::string const text = seen(environment, command);
    EXPECT_EQ(text.find("\x1b["), std::string::npos) << environment << "\n" << text;
    EXPECT_NE(text.find(plain), std::string::npos) << environment << "\n" << text;
  }
  Outcome const piped = shell("TERM=xterm; export TERM; " + command);
  EXPECT_EQ((piped.out + piped.err).find('\x1b'), std::string::npos);
}

TEST_F(Terminal, ProgressHasRateAndTimeLeft) {
  if (shell("command -v script").code != 0) {
    GTEST_SKIP() << "script(1) of bsdutils is not there";
  }
  for (char const* words : {"run --geometry tiny --seconds 2",
                            "mutants --only half_step --only leak_on_drop --repeat 3",
                            "gate --seed 1 --only canary --only random --budget 3s",
                            "fuzz --seed 1 --targets swarm --for 2s --dir c",
                            "coverage --exhaustive 3"}) {
    std::string const text = seen("TERM=xterm", std::string{"holdfast "} + words);
    EXPECT_NE(text.find("/s)"), std::string::npos) << words << "\n" << text;
    EXPECT_NE(text.find(" left"), std::string::npos) << words << "\n" << text;
    EXPECT_NE(text.find("\x1b[K"), std::string::npos) << words << "\n" << text;
  }
  EXPECT_EQ(shell("TERM=xterm holdfast run --geometry tiny --seconds 1").err, "");
  std::string const dumb = seen("TERM=dumb", "holdfast run --geometry tiny --seconds 1");
  EXPECT_EQ(dumb.find(" left"), std::string::npos) << dumb;
}

}  // namespace
}  // namespace holdfast::test
