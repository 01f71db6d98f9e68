// SPDX-License-Identifier: Apache-2.0
// Adapters of engines that come as packages: tried where `./dev adapter NAME` put the engine, and skipped, with what is missing, where
// it did not.
#include <string>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

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
};

/// "... Fails: LOGITS." ends the first line of a trace of corpus/engines.
std::string promised_by(fs::path const& trace) {
  std::string line = content_of(trace);
  line = line.substr(0, line.find(".\n"));
  return line.substr(line.rfind(' ') + 1);
}

TEST_F(PackagedEngines, LlamaCppSpeaksTheProtocolAndItsFindingsShow) {
  if (!fs::exists(source() / "build/release/bin/llama_cpp_adapter")) {
    GTEST_SKIP() << "the adapter of llama.cpp is not built: LLAMA_DIR was not set; "
                    "./dev adapter llama.cpp";
  }
  std::string const target = "adapters/llama.cpp/target.json";
  speaks_the_protocol(target, "20");
  Outcome const replayed =
      in_source("holdfast replay corpus/engines/llama.cpp --json --target " + target);
  ASSERT_EQ(replayed.code, 1) << replayed.err;
  Json const traces = Json::parse(replayed.out).at("traces");
  EXPECT_GE(traces.size(), 20U);
  for (Json const& trace : traces) {
    auto const file = trace.at("file").get<std::string>();
    EXPECT_EQ(trace.at("oracle"), promised_by(source() / file)) << file;
  }
}

TEST_F(PackagedEngines, TransformersSpeaksTheProtocol) {
  if (!fs::exists(source() / "build/venv-transformers/bin/python")) {
    GTEST_SKIP() << "transformers is not installed in build/venv-transformers; "
                    "./dev adapter transformers";
  }
  speaks_the_protocol("adapters/transformers/target.json", "2");
}

}  // namespace
}  // namespace holdfast::test
