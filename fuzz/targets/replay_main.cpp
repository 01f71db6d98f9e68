// SPDX-License-Identifier: Apache-2.0
// A main for targets that no engine drives: runs inputs again, and makes those to begin with.
//
//   fuzz_x [--mutant=NAME] [--repeat=N] FILE|FOLDER...    exit 1 when an input failed
//   fuzz_x --make-seeds=FOLDER [--count=N]
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/clock.hpp"
#include "fuzz/targets/target.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"

namespace holdfast::fuzz {
namespace {

namespace fs = std::filesystem;
using model::InputError;

/// A finding, in place of an abort.
struct Finding {
  std::string text;
};

char const* volatile current_input = "";

void name_the_input(int number) {
  // What else may be called here is little.
  char const* const parts[] = {"died at ", current_input, "\n"};
  for (char const* part : parts) {
    if (::write(STDERR_FILENO, part, std::char_traits<char>::length(part)) < 0) {
      break;
    }
  }
  static_cast<void>(std::signal(number, SIG_DFL));
  static_cast<void>(std::raise(number));
}

constexpr std::array kOfTargets = {
    "--mutant=", "--findings=", "--device=", "--flight=", "--tally=", "--budget="};

struct Words {
  std::vector<std::string> paths;
  std::optional<std::string> seeds;
  std::uint32_t count = 200;
  std::uint32_t repeat = 1;
};

std::uint32_t read_number(std::string const& word, std::size_t at) {
  std::uint32_t number = 0;
  char const* const end = word.data() + word.size();
  auto const [stop, error] = std::from_chars(word.data() + at, end, number);
  if (error != std::errc{} || stop != end || number == 0) {
    throw InputError{word + ": is not followed by a number from 1 on"};
  }
  return number;
}

Words read_words(int argc, char** argv) {
  Words words;
  auto const is = [](std::string const& word, char const* name) {
    return word.rfind(name, 0) == 0;
  };
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    if (is(word, "--make-seeds=")) {
      words.seeds = word.substr(13);
    } else if (is(word, "--count=")) {
      words.count = read_number(word, 8);
    } else if (is(word, "--repeat=")) {
      words.repeat = read_number(word, 9);
    } else if (std::any_of(kOfTargets.begin(), kOfTargets.end(), [&](char const* name) {
                 return is(word, name);
               })) {
      continue;  // read by LLVMFuzzerInitialize
    } else if (is(word, "-")) {
      throw InputError{"unknown option '" + word +
                       "'; known: --mutant= --findings= --device= --flight= --tally= --budget= "
                       "--repeat= --make-seeds= --count="};
    } else {
      words.paths.push_back(word);
    }
  }
  if (words.paths.empty() == !words.seeds) {
    throw InputError{"give files and folders of inputs, or --make-seeds=FOLDER"};
  }
  return words;
}

std::vector<std::string> files_of(std::vector<std::string> const& paths) {
  std::vector<std::string> files;
  for (std::string const& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::size_t const before = files.size();
    for (fs::recursive_directory_iterator entry{path, error}, end; !error && entry != end;
         entry.increment(error)) {
      std::error_code ignored;
      if (entry->is_regular_file(ignored)) {
        files.push_back(entry->path().string());
      }
    }
    if (error) {
      throw InputError{path + ": cannot be read: " + error.message()};
    }
    if (files.size() == before) {
      throw InputError{path + ": the folder has no file"};
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

int run_inputs(Words const& words) {
  set_finding_hook([](std::string const& text) { throw Finding{text}; });
  for (int const number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    static_cast<void>(std::signal(number, name_the_input));
  }
  std::vector<std::string> const files = files_of(words.paths);
  std::vector<std::string> inputs;
  inputs.reserve(files.size());
  for (std::string const& path : files) {
    inputs.push_back(model::read_file(path));
  }
  std::size_t failed = 0;
  auto const start = Clock::now();
  for (std::uint32_t round = 0; round < words.repeat; ++round) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      current_input = files[i].c_str();
      try {
        static_cast<void>(LLVMFuzzerTestOneInput(
            reinterpret_cast<std::uint8_t const*>(inputs[i].data()), inputs[i].size()));
      } catch (Finding const& finding) {
        ++failed;
        std::string const text = finding.text + files[i] + ": failed\n";
        std::fputs(text.c_str(), stderr);
      }
    }
  }
  double const seconds = seconds_since(start);
  std::size_t const runs = files.size() * words.repeat;
  std::string const text = fmt::format("{} inputs, {} failed, {:.0f} a second\n",
                                       runs,
                                       failed,
                                       static_cast<double>(runs) / std::max(seconds, 1e-9));
  std::fputs(text.c_str(), stdout);
  return failed == 0 ? 0 : 1;
}

int write_seeds(Words const& words) {
  std::error_code error;
  fs::create_directories(*words.seeds, error);
  std::uint32_t index = 0;
  std::string failed;
  make_seeds(words.count, [&](Input input) {
    std::string const path = fmt::format("{}/seed-{:05}", *words.seeds, index++);
    std::ofstream file{path, std::ios::binary};
    file.write(reinterpret_cast<char const*>(input.data()),
               static_cast<std::streamsize>(input.size()));
    if (!file.flush() && failed.empty()) {
      failed = path;
    }
  });
  if (!failed.empty()) {
    std::fputs((failed + ": cannot be written\n").c_str(), stderr);
    return 3;
  }
  std::fputs(fmt::format("{} seeds in {}\n", index, *words.seeds).c_str(), stdout);
  return 0;
}

int run_main(int argc, char** argv) {
  Words const words = read_words(argc, argv);
  static_cast<void>(LLVMFuzzerInitialize(&argc, &argv));
  return words.seeds ? write_seeds(words) : run_inputs(words);
}

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  try {
    return holdfast::fuzz::run_main(argc, argv);
  } catch (holdfast::model::InputError const& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 3;
  }
}
