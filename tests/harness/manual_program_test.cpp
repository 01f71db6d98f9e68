// SPDX-License-Identifier: Apache-2.0
// Goal: the manual page and the completion of bash know every command and option, and work. Method: what
// the program prints goes to bash and to groff, as it would at a user's.
#include <string>
#include <vector>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

class Manual : public Program {
 protected:
  /// What bash offers for a line whose last word is not finished.
  [[nodiscard]] std::vector<std::string> offered(std::string const& line) const {
    write("offer.bash",
          "set -u\n. ./holdfast.bash\n"
          "read -ra COMP_WORDS <<<\"$1\"\n[[ \"$1\" != *' ' ]] || COMP_WORDS+=('')\n"
          "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_holdfast\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
    Outcome const outcome = shell("bash offer.bash '" + line + "'");
    EXPECT_EQ(outcome.err, "") << line;
    return lines_of(outcome.out);
  }
  [[nodiscard]] bool offers(std::string const& line, std::string const& word) const {
    for (std::string const& one : offered(line)) {
      if (one == word) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] Json commands() const {
    return Json::parse(shell("holdfast manual --json").out).at("commands");
  }
};

TEST_F(Manual, BashParsesTheCompletion) {
  Outcome const outcome =
      shell("holdfast manual completion > holdfast.bash && bash -n holdfast.bash");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(shell("bash -c '. ./holdfast.bash; complete -p holdfast'").out,
            "complete -o filenames -F _holdfast holdfast\n");
}

TEST_F(Manual, CompletionKnowsEveryWord) {
  ASSERT_EQ(shell("holdfast manual completion > holdfast.bash").code, 0);
  for (Json const& command : commands()) {
    auto const name = command.at("name").get<std::string>();
    EXPECT_TRUE(offers("holdfast " + name.substr(0, name.size() - 1), name)) << name;
    for (Json const& word : command.at("words")) {
      auto const option = word.at("name").get<std::string>();
      bool const is_option = word.at("is_option").get<bool>();
      EXPECT_TRUE(!is_option || offers("holdfast " + name + " " + option, option)) << option;
      if (!word.at("known").empty()) {
        auto const last = word.at("known").back().get<std::string>();
        EXPECT_TRUE(offers("holdfast " + name + " " + (is_option ? option + " " : ""), last))
            << name << " " << option << " " << last;
      }
    }
  }
  write("found.trace", "");
  EXPECT_EQ(offered("holdfast replay fou"), std::vector<std::string>{"found.trace"});
  EXPECT_EQ(offered("holdfast run --save fou"), std::vector<std::string>{"found.trace"});
  EXPECT_TRUE(offered("holdfast run --ops ").empty() || offered("holdfast run --ops ")[0].empty());
}

TEST_F(Manual, PageHasEveryWord) {
  Outcome const outcome = shell("holdfast manual > holdfast.1 && cat holdfast.1");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  auto const escaped = [](std::string const& text) {
    std::string out;
    for (char const letter : text) {
      out += letter == '-' ? std::string{"\\-"} : std::string{letter};
    }
    return out;
  };
  for (Json const& command : commands()) {
    auto const name = command.at("name").get<std::string>();
    EXPECT_NE(outcome.out.find(".SS \"holdfast " + name + "\"\n"), std::string::npos) << name;
    for (Json const& word : command.at("words")) {
      auto const option = word.at("name").get<std::string>();
      EXPECT_NE(outcome.out.find(escaped(option)), std::string::npos) << name << " " << option;
    }
    for (Json const& example : command.at("examples")) {
      auto const line = example.at("line").get<std::string>();
      EXPECT_NE(outcome.out.find("\n" + escaped(line) + "\n"), std::string::npos) << line;
    }
  }
  for (char const* section : {"NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT"}) {
    EXPECT_NE(outcome.out.find("\n.SH " + std::string{section} + "\n"), std::string::npos)
        << section;
  }
}

TEST_F(Manual, TroffHasNoComplaint) {
  if (shell("command -v groff").code != 0) {
    GTEST_SKIP() << "groff is not there";
  }
  Outcome const outcome = shell("holdfast manual | groff -man -Tascii -ww -P-c -P-b -P-u");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("EXIT STATUS"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::test
