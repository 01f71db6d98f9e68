// SPDX-License-Identifier: Apache-2.0
// Goal: the program does what it says, answers every mistake of a user in one line with the right
// exit code, and every failure ends with a command that really reproduces it. Method: run the
// program that was built, through a shell, as a user would.
#include "tests/support/program.hpp"

#include <algorithm>
#include <filesystem>
#include <holdfast/cuda.hpp>
#include <regex>
#include <string>
#include <vector>

#include "models/ops/op_list.hpp"

namespace holdfast::test {
namespace {

TEST_F(Program, RefusesWrongCommandLines) {
  expect_refusal(2, "holdfast", "no command");
  expect_refusal(2, "holdfast relpay x", "did you mean \"replay\"?");
  expect_refusal(2, "holdfast --ops 3 run", "unknown option '--ops'");
  expect_refusal(2, "holdfast run --thread 2", "did you mean \"--threads\"?");
  expect_refusal(2, "holdfast run --sede=3", "did you mean \"--seed\"?");
  expect_refusal(2, "holdfast run stray", "unexpected 'stray'");
  expect_refusal(2, "holdfast run --ops", "--ops");
  expect_refusal(2, "holdfast run --ops banana", "--ops: 'banana'");
  expect_refusal(2, "holdfast run --ops 0", "--ops: '0'");
  expect_refusal(2, "holdfast run --ops -5", "--ops: '-5'");
  expect_refusal(2, "holdfast run --ops 5x", "--ops: '5x'");
  expect_refusal(2, "holdfast run --ops ''", "--ops");
  expect_refusal(2, "holdfast run --ops 99999999999999999999999", "--ops");
  expect_refusal(2, "holdfast run --ops 5 --ops 6", "--ops");
  expect_refusal(2, "holdfast run --threads 0", "--threads: '0'");
  expect_refusal(2, "holdfast run --seconds -1", "--seconds: '-1'");
  expect_refusal(2, "holdfast run --seconds 0", "--seconds: '0'");
  expect_refusal(2, "holdfast run --seconds nan", "--seconds: 'nan'");
  expect_refusal(2, "holdfast run --seconds inf", "--seconds: 'inf'");
  expect_refusal(2, "holdfast run --ops 5 --seconds 1", "exclude each other");
  expect_refusal(2, "holdfast run --seed xyz", "--seed: 'xyz'");
  expect_refusal(2, "holdfast run --seed abc123", "--seed: 'abc123'");
  expect_refusal(2, "holdfast run --seed 99999999999999999999", "--seed");
  expect_refusal(2, "holdfast run --seed -3", "--seed: '-3'");
  expect_refusal(2, "holdfast run --device cdua", "did you mean \"cuda\"?");
  expect_refusal(2, "holdfast replay --device sim x.trace", "where a trace says so");
  expect_refusal(2, "holdfast minimize --device sim x.trace", "where a trace says so");
  expect_refusal(2, "holdfast mutants --device cuda", "run --device cuda --mutant NAME");
  if (auto const count = cuda_device_count(); !count || *count == 0) {
    expect_refusal(3, "holdfast run --device cuda", "there is no device 'cuda' here");
    expect_refusal(3, "holdfast replay --device cuda x.trace", "there is no device 'cuda' here");
  }
  expect_refusal(
      2, "holdfast run --mutant two_plane_snapshoot", "did you mean \"two_plane_snapshot\"?");
  expect_refusal(2, "holdfast mutants --only two_plane", "did you mean \"two_plane_snapshot\"?");
  expect_refusal(2, "holdfast mutants --ops 0", "--ops: '0'");
  expect_refusal(2, "holdfast list geometrys", "did you mean \"geometries\"?");
  expect_refusal(
      2, "holdfast list mutants --markdown", "for the topics invariants and order alone");
  expect_refusal(2, "holdfast replay", "replay needs");
  expect_refusal(2, "holdfast replay --", "replay needs");
  expect_refusal(2, "holdfast run -- stray", "'stray'");
  expect_refusal(2, "holdfast run -- --", "'--'");
}

TEST_F(Program, TakesTwoDashesForTheEndOfOptions) {
  write("--json", "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=s0\n");
  Outcome const outcome = shell("holdfast replay -- --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("--json: ok"), std::string::npos) << outcome.out;
  EXPECT_EQ(shell("holdfast run --ops 10 --").code, 0);
}

TEST_F(Program, RefusesWrongGeometries) {
  std::string const begin = R"({"name": "x", "page_rows": 4, "chunk_pages": 2, )";
  std::string const capacity = R"("capacity": {"tokens": 64, "largest_round": 8}, )";
  write("heads.json",
        begin + R"("ranks": 2, )" + capacity +
            R"("layers": [{"planes": [{"kind": "attention_kv", "heads": 3, "head_dim": 4}]}]})");
  write("ring.json",
        begin + capacity +
            R"("layers": [{"planes": [{"kind": "latent", "width": 8}, {"kind": "indexer",
               "index_width": 8, "pool": 4, "key_width": 4, "ring_rows": 4}]}]})");
  write("mix.json",
        begin + capacity +
            R"("layers": [{"planes": [{"kind": "attention_kv", "heads": 1, "head_dim": 4}]}],
               "mix": {"weights": {"apend": 3}}})");
  std::string none;
  for (char const* name : model::AllOps::kNames) {
    none += (none.empty() ? "\"" : ", \"") + std::string{name} + "\": 0";
  }
  write("none.json",
        begin + capacity +
            R"("layers": [{"planes": [{"kind": "attention_kv", "heads": 1, "head_dim": 4}]}],
               "mix": {"weights": {)" +
            none + "}}}");
  write("bad.json", "{\n  \"name\": \n");
  write("empty.json", "");
  expect_refusal(2, "holdfast run --geometry tinny", "did you mean \"tiny\"?");
  expect_refusal(2, "holdfast run --geometry missing.json", "missing.json");
  expect_refusal(2, "holdfast run --geometry heads.json", "heads");
  expect_refusal(2, "holdfast run --geometry ring.json", "ring_rows");
  expect_refusal(2, "holdfast run --geometry mix.json", "apend");
  expect_refusal(2, "holdfast run --geometry none.json", "all weights are 0");
  expect_refusal(2, "holdfast run --geometry bad.json", "bad.json:");
  expect_refusal(2, "holdfast run --geometry empty.json", "empty.json");
  expect_refusal(2, "holdfast mutants --geometry tinny", "did you mean \"tiny\"?");
}

TEST_F(Program, RefusesWrongTraces) {
  std::string const head = "holdfast-trace 1\ngeometry tiny\ndevice host\n";
  write("empty.trace", "");
  write("comments.trace", "# nothing\n\n");
  write("version.trace", "holdfast-trace 2\n");
  write("geometry.trace",
        "# x\n\nholdfast-trace 1\ngeometry tinny\ndevice host\ncreate sequence=s0\n");
  write("device.trace", "holdfast-trace 1\ngeometry tiny\ndevice moon\ncreate sequence=s0\n");
  write("headless.trace", "create sequence=s0\n");
  write("malformed.trace", head + "create sequence=s0\nappend sequence=s0 rows=x token=1\n");
  write("unknown.trace", head + "destroy sequence=s0\n");
  write("nothing.trace", head);
  write("unrunnable.trace", head + "snapshot sequence=s3 snapshot=h0\n");
  fs::create_directory(path("hollow"));
  expect_refusal(2, "holdfast replay missing.trace", "missing.trace");
  expect_refusal(2, "holdfast replay empty.trace", "empty.trace:1:1: ");
  expect_refusal(2, "holdfast replay comments.trace", "comments.trace:1:1: ");
  expect_refusal(2, "holdfast replay version.trace", "version.trace:1:16: ");
  expect_refusal(2, "holdfast replay geometry.trace", "geometry.trace:4:10: ");
  expect_refusal(2, "holdfast replay device.trace", "device.trace:3:8: ");
  expect_refusal(2, "holdfast replay headless.trace", "headless.trace:1:1: ");
  expect_refusal(2, "holdfast replay malformed.trace", "malformed.trace:5:25: ");
  expect_refusal(2, "holdfast replay unknown.trace", "unknown.trace:4:1: ");
  expect_refusal(2, "holdfast replay nothing.trace", "nothing.trace:3:1: ");
  expect_refusal(2, "holdfast replay unrunnable.trace", "no operation of the trace can run");
  expect_refusal(2, "holdfast replay hollow", "hollow");
}

TEST_F(Program, SearchesForMutantsWithRapidcheck) {
  std::string const search =
      "holdfast mutants --only leak_on_drop --only two_plane_snapshot --repeat 3 ";
  auto const searched = [&] {
    Outcome const outcome = shell(search + "--search rapidcheck --json");
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    Json json = Json::parse(outcome.out);
    EXPECT_EQ(json.at("budget"), 500'000);
    for (Json& mutant : json.at("mutants")) {
      EXPECT_EQ(mutant.at("killed"), 3) << mutant.dump(2);
      mutant.erase("seconds");
    }
    return json;
  };
  Json const once = searched();
  EXPECT_EQ(searched(), once);
  // They are other programs than the swarm's.
  Json const swarm = Json::parse(shell(search + "--json").out);
  EXPECT_NE(swarm.at("mutants").at(0).at("operations"), once.at("mutants").at(0).at("operations"));
}

TEST_F(Program, RepeatsSearchesForMutants) {
  std::string const search = "holdfast mutants --only leak_on_drop --only half_step --repeat 3 ";
  Outcome const outcome = shell(search + "--json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const json = Json::parse(outcome.out);
  ASSERT_EQ(json.at("mutants").size(), 2U);
  for (Json const& mutant : json.at("mutants")) {
    EXPECT_EQ(mutant.at("killed"), 3) << mutant.dump(2);
    EXPECT_EQ(mutant.at("reached"), 3) << mutant.dump(2);
    EXPECT_LE(mutant.at("low"), mutant.at("operations"));
    EXPECT_LE(mutant.at("operations"), mutant.at("high"));
  }
  // A search that is cut short is shown as such, with the command that repeats it.
  Outcome const cut = shell("holdfast mutants --only half_step --repeat 3 --ops 1 --search mix");
  EXPECT_EQ(cut.code, 1) << cut.out;
  EXPECT_NE(cut.out.find("killed 0 of 3, reached "), std::string::npos) << cut.out;
  EXPECT_EQ(last_line(cut.out), "holdfast mutants --only half_step --search mix --seed 1 --ops 1");
  EXPECT_EQ(shell(last_line(cut.out)).code, 1);
  expect_refusal(2, search + "--markdown", "corpus/regression: cannot be read");
  expect_refusal(2, search + "--markdown --json", "exclude each other");
  expect_refusal(2, "holdfast mutants --repeat 0", "--repeat: '0'");
  expect_refusal(2, "holdfast mutants --search swarn", "did you mean \"swarm\"?");
  expect_refusal(2, "holdfast mutants --search libfuzzer --geometry tiny", "geometries of its own");
  expect_refusal(2, "holdfast run --flavor edgy", "known: mix, subset, hot, powers");
}

TEST_F(Program, SaysWhenTheEnvironmentFails) {
  std::string const run = "holdfast run --geometry tiny --ops 100";
  expect_refusal(3, run + " >/dev/full", "standard output");
  expect_refusal(3, run + " >&-", "standard output");
  expect_refusal(3, "holdfast --help >/dev/full", "standard output");
  expect_refusal(3, "holdfast list --json >&-", "standard output");
  expect_refusal(3, run + " --save nowhere/x.trace", "nowhere/x.trace");
  Outcome const full = shell(run + "0 --mutant two_plane_snapshot --save /dev/full");
  EXPECT_EQ(full.code, 3);
  EXPECT_EQ(lines_of(full.err).size(), 1U) << full.err;
  // Without its twin the program cannot run mutants.
  expect_refusal(3,
                 "cp '" HOLDFAST_BIN_DIR
                 "/holdfast' lonely && ./lonely run --mutant "
                 "two_plane_snapshot",
                 "holdfast-mutants");
}

TEST_F(Program, RunPrintsOneObjectWithItsCounts) {
  Outcome const outcome = shell("holdfast run --geometry tiny --seed 7 --ops 500 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const json = Json::parse(outcome.out);
  EXPECT_GE(json.at("operations").get<std::uint64_t>(), 500U);
  EXPECT_GT(json.at("programs").get<std::uint64_t>(), 5U);
  EXPECT_GT(json.at("rows").get<std::uint64_t>(), 0U);
  EXPECT_GT(json.at("operations_per_second").get<double>(), 0);
  EXPECT_GT(json.at("rows_per_second").get<double>(), 0);
  EXPECT_GT(json.at("checks").get<std::uint64_t>(), 500U);
  EXPECT_EQ(json.at("violations"), 0);
  EXPECT_EQ(json.at("seed"), 7);
  EXPECT_EQ(json.at("geometries"), Json({"tiny"}));
  EXPECT_EQ(json.count("failure"), 0U);
  EXPECT_GE(json.at("invariants").at("LEN").get<std::uint64_t>(), 500U);
  std::string const digest = json.at("digest").get<std::string>();
  EXPECT_EQ(digest.size(), 16U);
  EXPECT_EQ(digest.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST_F(Program, RunPrintsASummaryForPeople) {
  Outcome const outcome = shell("holdfast run --ops 300");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  std::vector<std::string> const lines = lines_of(outcome.out);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "0 violations"), 1) << outcome.out;
  for (char const* part :
       {"programs", "operations/s", "rows/s", "checks", "LEN", "seed", "digest"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  }
}

TEST_F(Program, OutcomeDependsOnTheSeedAlone) {
  auto const digest = [&](std::string const& rest) {
    Outcome const outcome = shell("holdfast run --ops 2000 --json " + rest);
    return Json::parse(outcome.out).at("digest").get<std::string>();
  };
  std::string const one = digest("--threads 1 --seed 7");
  EXPECT_EQ(one, digest("--threads 2 --seed 7"));
  EXPECT_NE(one, digest("--threads 1 --seed 8"));
  // A hash is the number that its first 16 digits spell.
  EXPECT_EQ(digest("--seed 00000000000000ff77f5a1c2d3e4f5a6b7c8d9e0"), digest("--seed 255"));
  EXPECT_EQ(digest("--seed 00000fF"), digest("--seed 255"));
}

TEST_F(Program, RunsByTime) {
  Outcome const outcome = shell("holdfast run --geometry tiny --seconds 0.3 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GE(Json::parse(outcome.out).at("seconds").get<double>(), 0.3);
}

TEST_F(Program, NamesWhatAMutantBreaksAndReproducesIt) {
  Outcome const outcome =
      shell("holdfast run --geometry tiny --seed 3 --ops 3000 --mutant two_plane_snapshot");
  ASSERT_EQ(outcome.code, 1) << outcome.err;
  std::vector<std::string> const found = violations_of(outcome.out);
  ASSERT_FALSE(found.empty()) << outcome.out;
  // Invariant, holder, plane, layer, position.
  std::regex const all_named{"  [A-Z]+: [she][0-9]+ plane latent layer 2 position [0-9]+: .+"};
  EXPECT_TRUE(std::regex_match(found.front(), all_named)) << found.front();
  std::string const command = last_line(outcome.out);
  ASSERT_EQ(command.rfind("holdfast run ", 0), 0U) << command;
  Outcome const again = shell(command);
  EXPECT_EQ(again.code, 1) << command;
  EXPECT_EQ(violations_of(again.out), found) << again.out;
  EXPECT_EQ(last_line(again.out), command);
}

TEST_F(Program, ReproducesLateFailuresOfManyGeometriesByJson) {
  std::string const run =
      "holdfast run --geometry tiny-rows --geometry ./own.json --geometry tiny --seed 5 "
      "--ops 200000 --threads 2 --no-compare --json --mutant sealed_not_raised";
  write("own.json",
        R"({"name": "own", "page_rows": 4, "chunk_pages": 2, "capacity": {"tokens": 64,
            "largest_round": 4, "sequences": 3, "snapshots": 4}, "layers": [
            {"planes": [{"kind": "attention_kv", "heads": 1, "head_dim": 4}]}]})");
  Outcome const outcome = shell(run);
  ASSERT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  Json const failure = Json::parse(outcome.out).at("failure");
  Outcome const again = shell(failure.at("reproduce").get<std::string>() + " --json");
  ASSERT_EQ(again.code, 1) << failure.dump(2);
  Json const repeated = Json::parse(again.out).at("failure");
  EXPECT_EQ(repeated.at("program"), failure.at("program"));
  EXPECT_EQ(repeated.at("geometry"), failure.at("geometry"));
  EXPECT_EQ(repeated.at("violations"), failure.at("violations"));
  EXPECT_GT(Json::parse(outcome.out).at("violations").get<int>(), 0);
}

TEST_F(Program, SavesAFailureThatReplayTells) {
  Outcome const saved = shell(
      "holdfast run --geometry tiny --ops 3000 --mutant two_plane_snapshot --save 'a b.trace'");
  ASSERT_EQ(saved.code, 1) << saved.err;
  std::string const text = content_of(path("a b.trace"));
  EXPECT_EQ(text.rfind("# violates ", 0), 0U) << text;
  EXPECT_NE(text.find("two_plane_snapshot"), std::string::npos) << text;
  std::string const command = last_line(saved.out);
  EXPECT_EQ(command, "holdfast replay 'a b.trace' --mutant two_plane_snapshot");
  Outcome const replayed = shell(command);
  EXPECT_EQ(replayed.code, 1) << replayed.err;
  EXPECT_NE(replayed.out.find("    0  create sequence=s0: ok(0)"), std::string::npos)
      << replayed.out;
  EXPECT_EQ(violations_of(replayed.out), violations_of(saved.out)) << replayed.out;
  EXPECT_EQ(last_line(replayed.out), command);
  Outcome const plain = shell("holdfast replay 'a b.trace'");
  EXPECT_EQ(plain.code, 0) << plain.out << plain.err;
}

TEST_F(Program, ReplaySaysWhichOrderIsMissing) {
  std::string const replay = "holdfast replay '" HOLDFAST_SOURCE_DIR
                             "/corpus/regression/seed/seed14_accept_in_another_stream.trace' "
                             "--mutant owner_not_awaited";
  std::string const missing =
      "  missing  device 0 stream 1, after holdfast.step of operation 4 -> device 0 stream 0, "
      "before holdfast.step of operation 6\n";
  Outcome const why = shell(replay + " --why");
  EXPECT_EQ(why.code, 1);
  EXPECT_NE(why.out.find(missing), std::string::npos) << why.out;
  EXPECT_NE(last_line(why.out).find(" --why --mutant owner_not_awaited"), std::string::npos);
  EXPECT_EQ(shell(replay).out.find("missing"), std::string::npos);
  Json const json = Json::parse(shell(replay + " --why --json").out);
  EXPECT_NE(json.at("failure").at("why").get<std::string>().find(missing), std::string::npos);
}

TEST_F(Program, JudgesWhatASequenceWroteBeforeItLeft) {
  Outcome const outcome =
      shell("holdfast replay '" HOLDFAST_SOURCE_DIR
            "/corpus/regression/own/own_leaver_writes_a_held_state.trace' --no-compare --json "
            "--mutant shared_state_in_place");
  EXPECT_EQ(outcome.code, 1);
  Json const failure = Json::parse(outcome.out).at("failure");
  EXPECT_EQ(failure.at("operation"), 3);
  EXPECT_EQ(failure.at("violations").at(0).at("id"), "OWNER");
}

TEST_F(Program, ReplaysFoldersAndCountsWhatItSkips) {
  std::string const head = "holdfast-trace 1\ngeometry tiny\ndevice host\n";
  fs::create_directories(path("all/deep"));
  write("all/b.trace", head + "create sequence=s0\ncreate sequence=s0\nrelease sequence=s0\n");
  write("all/deep/a.trace", head + "create sequence=s0\n");
  write("all/notes.txt", "no trace");
  Outcome const outcome = shell("holdfast replay all --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("files"), 2);
  EXPECT_EQ(json.at("results").at(0).at("file"), "all/b.trace");
  EXPECT_EQ(json.at("results").at(0).at("skipped"), 1);
  EXPECT_EQ(json.at("results").at(1).at("skipped"), 0);
  EXPECT_NE(shell("holdfast replay all").out.find("2 operations, 1 skipped"), std::string::npos);
}

TEST_F(Program, PipesAreReadOrPassedOverAndNeverHang) {
  std::string const trace = "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=s0\n";
  fs::create_directories(path("all"));
  write("all/a.trace", trace);
  ASSERT_EQ(shell("mkfifo pipe all/pipe all/b.trace").code, 0);
  // In a folder they are nobody's trace.
  Outcome const folder = shell("timeout -s KILL 20 holdfast replay all --json");
  ASSERT_EQ(folder.code, 0) << folder.err;
  EXPECT_EQ(Json::parse(folder.out).at("files"), 1);
  EXPECT_EQ(shell("timeout -s KILL 20 holdfast coverage --replay all").code, 0);
  // One that is named is waited for, until the first signal.
  for (char const* command : {"replay", "minimize", "coverage", "coverage --replay"}) {
    Outcome const outcome = shell("timeout -k 20 --preserve-status -s INT 1 holdfast " +
                                  std::string{command} + " pipe");
    EXPECT_TRUE(outcome.code == 130) << command << ": " << outcome.code << outcome.err;
    EXPECT_EQ(outcome.out, "") << command;
  }
  // What comes through one is read whole, wherever it comes from.
  EXPECT_EQ(
      shell("(sleep 0.2; cat all/a.trace) >pipe & timeout -s KILL 20 holdfast replay pipe").code,
      0);
  EXPECT_EQ(shell("cat all/a.trace | timeout -s KILL 20 holdfast replay /dev/stdin").code, 0);
  EXPECT_EQ(shell("timeout -s KILL 20 holdfast replay /dev/stdin <all/a.trace").code, 0);
  Outcome const wrong =
      shell("sed s/tiny/tinny/ all/a.trace | timeout -s KILL 20 holdfast replay /dev/stdin");
  EXPECT_NE(wrong.err.find("/dev/stdin:2:10: "), std::string::npos) << wrong.err;
  // What has no end is refused.
  expect_refusal(2, "timeout -s KILL 5 holdfast replay /dev/urandom", "neither a file");
  expect_refusal(2, "holdfast replay /dev/null", "/dev/null: cannot be read: it is neither a file");
}

TEST_F(Program, ReplaysFuzzerInputsAndSaysWhatTheyMean) {
  std::string const program = "\\365\\005\\004tiny\\000\\000\\001\\000\\005\\001";
  fs::create_directories(path("units"));
  ASSERT_EQ(shell("printf '" + program + "' >units/4f2a; printf '\\365\\005' >units/bare").code, 0);
  Outcome const outcome = shell("holdfast replay units/4f2a");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::string const meaning =
      "geometry tiny\ndevice host\ncreate sequence=s0\n"
      "append sequence=s0 rows=5 token=1 piece=0 view=0\n";
  EXPECT_NE(outcome.out.find(meaning), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("units/4f2a: ok, 2 operations"), std::string::npos) << outcome.out;
  expect_refusal(
      2, "holdfast replay units", "units/bare: is an encoded program without a geometry");
  fs::remove(path("units/bare"));
  Json const json = Json::parse(shell("holdfast replay units --json").out);
  EXPECT_EQ(json.at("files"), 1);
  EXPECT_EQ(json.at("results").at(0).at("encoded"), true);
}

TEST_F(Program, SaysWhichPointsWereNeverMet) {
  Json const few =
      Json::parse(shell("holdfast run --geometry tiny --ops 100 --sometimes --json").out);
  std::size_t const points =
      Json::parse(shell("holdfast list sometimes --json").out)["sometimes"].size();
  EXPECT_EQ(few.at("sometimes").at("points"), points);
  EXPECT_GT(few.at("sometimes").at("never").size(), 5U);
  Json const more = Json::parse(shell("holdfast run --ops 20000 --sometimes --json").out);
  EXPECT_LT(more.at("sometimes").at("never").size(), few.at("sometimes").at("never").size());
  EXPECT_NE(shell("holdfast run --ops 100 --sometimes").out.find("points met; never: "),
            std::string::npos);
}

TEST_F(Program, ListsWhatThereIs) {
  Outcome const outcome = shell("holdfast list --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const json = Json::parse(outcome.out);
  for (char const* key :
       {"geometries", "operations", "invariants", "mutants", "order", "sometimes"}) {
    EXPECT_FALSE(json.at(key).empty()) << key;
    Json const alone = Json::parse(shell(std::string{"holdfast list --json "} + key).out);
    EXPECT_EQ(alone.size(), 1U);
    EXPECT_EQ(alone.at(key), json.at(key));
  }
  EXPECT_EQ(json.at("invariants").at(0).at("id"), "LEN");
  EXPECT_TRUE(json.at("mutants").at(0).at("killers").is_array());
  EXPECT_EQ(shell("holdfast list").code, 0);
}

TEST_F(Program, MutantsDieOrAreNamedAsSurvivors) {
  std::string const command =
      "holdfast mutants --geometry tiny --only leak_on_drop --only "
      "two_plane_snapshot --json --ops ";
  Outcome const killed = shell(command + "50000");
  ASSERT_EQ(killed.code, 0) << killed.out << killed.err;
  Json const json = Json::parse(killed.out);
  EXPECT_EQ(json.at("total"), 2);
  EXPECT_EQ(json.at("killed"), 2);
  EXPECT_TRUE(json.at("survivors").empty());
  EXPECT_EQ(json.at("kills").at(0).at("mutant"), "two_plane_snapshot");
  EXPECT_FALSE(json.at("kills").at(0).at("invariants").empty());
  EXPECT_GT(json.at("kills").at(0).at("operations").get<int>(), 0);

  // In one program nothing goes wrong yet.
  Outcome const survived =
      shell("holdfast mutants --geometry tiny --only writer_mark_survives --ops 1");
  EXPECT_EQ(survived.code, 1) << survived.out;
  std::string const again = last_line(survived.out);
  EXPECT_EQ(again.rfind("holdfast mutants --only writer_mark_survives", 0), 0U) << again;
  EXPECT_EQ(shell(again).code, 1);
}

}  // namespace
}  // namespace holdfast::test
