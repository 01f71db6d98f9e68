// SPDX-License-Identifier: Apache-2.0
// holdfast explain: what every plane held, as a page or as columns.
#include <fmt/format.h>

#include <filesystem>

#include "fuzz/story.hpp"
#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

/// This command for `command`, on the same file.
std::string command_for(char const* command, ExplainOptions const& options) {
  std::vector<std::string> words = {invoked_name(), command, options.path};
  if (options.system) {
    words.insert(words.end(), {"--system", *options.system});
  }
  append_judging(words, options.mutant, options.compare);
  return command_of(words);
}

std::string page_of(ExplainOptions const& options) {
  return options.output ? *options.output
                        : std::filesystem::path{options.path}.stem().string() + ".html";
}

}  // namespace

int execute(ExplainOptions const& options) {
  LoadedTrace const loaded = load_runnable(options.path);
  std::string const path = page_of(options);
  if (!options.text) {
    check_writable(path);
    check_spares(path, {options.path});
  }
  turn_on_mutant(options.mutant);
  explain_crashes(command_for("replay", options));
  fuzz::Story const story =
      fuzz::tell_story(*loaded.geometry,
                       loaded.trace.ops,
                       model::device_from(options.system.value_or(loaded.trace.device)),
                       options.compare);
  fuzz::StoryFrame const frame{.title = std::filesystem::path{options.path}.filename().string(),
                               .mutant = options.mutant.value_or(""),
                               .reproduce = command_for("replay", options)};
  if (options.text) {
    print(fuzz::story_text(story, frame));
    return kExitHeld;
  }
  write_file(path, fuzz::story_page(story, frame));
  if (options.json) {
    print(text_of(
        Json{{"file", options.path},
             {"page", path},
             {"geometry", story.geometry},
             {"operations", story.moments.size()},
             {"mutant", options.mutant ? Json(*options.mutant) : Json()},
             {"operation", story.failure ? Json(story.failure->op_index) : Json()},
             {"violations", story.failure ? json_of(story.failure->violations) : Json::array()},
             {"reproduce", frame.reproduce}}));
    return kExitHeld;
  }
  print(fmt::format("{}: {}\n{}\n",
                    options.path,
                    story.failure ? "violation of " + ids_of(story.failure->violations) +
                                        fmt::format(" at operation {}", story.failure->op_index)
                                  : "all held",
                    "the page: " + path));
  return kExitHeld;
}

}  // namespace holdfast::tools
