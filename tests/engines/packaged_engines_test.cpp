// SPDX-License-Identifier: Apache-2.0
// Adapters of engines that come as packages: tried where `./dev adapter NAME` put the engine, and skipped, with what is missing, where
// it did not.
#include <string>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

/// "... Fails: LOGITS." ends the first line of a trace of corpus/engines.
std::string promised_by(fs::path const& trace) {
  std::string line = content_of(trace);
  line = line.substr(0, line.find(".\n"));
  return line.substr(line.rfind(' ') + 1);
}

class PackagedEngines : public Program {
 protected:
  [[nodiscard]] static fs::path source() { return HOLDFAST_SOURCE_DIR; }
  [[nodiscard]] Outcome in_source(std::string const& command) const {
    return shell("cd '" + source().string() + "' && " + command);
  }
  void speaks_the_protocol(std::string const& target, std::string const& programs) const {
    Outcome const checked =
        in_source("holdfast target check " + target + " --programs " + programs + " --json");
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
    EXPECT_GT(Json::parse(checked.out).at("lines").get<int>(), 10);
  }
  /// Each trace of the folder, or the one, fails by the oracle that its first line names.
  void findings_show(std::string const& traces,
                     std::string const& target,
                     std::size_t least) const {
    Outcome const replayed = in_source("holdfast replay " + traces + " --json --target " + target);
    ASSERT_EQ(replayed.code, 1) << replayed.err;
    Json const found = Json::parse(replayed.out).at("traces");
    EXPECT_GE(found.size(), least);
    for (Json const& trace : found) {
      auto const file = trace.at("file").get<std::string>();
      EXPECT_EQ(trace.at("oracle"), promised_by(source() / file)) << file;
    }
  }
};

TEST_F(PackagedEngines, LlamaCppSpeaksTheProtocolAndItsFindingsShow) {
  if (!fs::exists(source() / "build/release/bin/llama_cpp_adapter")) {
    GTEST_SKIP() << "the adapter of llama.cpp is not built: LLAMA_DIR was not set; "
                    "./dev adapter llama.cpp";
  }
  std::string const target = "adapters/llama.cpp/target.json";
  speaks_the_protocol(target, "20");
  findings_show("corpus/engines/llama.cpp", target, 20);
}

TEST_F(PackagedEngines, TransformersSpeaksTheProtocolAndAFindingShows) {
  if (!fs::exists(source() / "build/venv-transformers/bin/python")) {
    GTEST_SKIP() << "transformers is not installed in build/venv-transformers; "
                    "./dev adapter transformers";
  }
  std::string const target = "adapters/transformers/target.json";
  speaks_the_protocol(target, "2");
  // One of them, since each is replayed by a process of its own, which makes all models at its start.
  findings_show("corpus/engines/transformers/crop_leaves_recurrent_state.trace", target, 1);
}

TEST_F(PackagedEngines, MlxLmSpeaksTheProtocolAndItsFindingsShow) {
  if (!fs::exists(source() / "build/venv-mlx-lm/bin/python")) {
    GTEST_SKIP() << "mlx-lm is not installed in build/venv-mlx-lm; ./dev adapter mlx-lm";
  }
  std::string const target = "adapters/mlx-lm/target.json";
  speaks_the_protocol(target, "2");
  findings_show("corpus/engines/mlx-lm", target, 3);
}

}  // namespace
}  // namespace holdfast::test
