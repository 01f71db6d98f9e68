// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/job.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "fuzz/files.hpp"
#include "fuzz/json_text.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"

namespace holdfast::fuzz {

bool is_target_name(std::string_view name) noexcept {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || letter == '_';
  });
}

std::string print_job(Job const& job) {
  return text_of({{"kind", static_cast<int>(job.kind)},
                  {"target", job.target},
                  {"seed", job.seed},
                  {"lease", job.lease},
                  {"seconds", job.seconds},
                  {"root", job.root},
                  {"work", job.work},
                  {"commit", job.commit},
                  {"mutant", job.mutant},
                  {"mute_canary", job.mute_canary},
                  {"program", job.program ? Json(*job.program) : Json()},
                  {"input", job.input},
                  {"death", job.death},
                  {"log", job.log}});
}

Job parse_job(std::string_view text, std::string const& origin) {
  return read_json(text, origin, [&](Json const& json) {
    std::uint64_t const kind = count_of(json.at("kind"));
    if (kind > static_cast<std::uint64_t>(JobKind::kMerge)) {
      throw model::InputError{origin + ": is damaged: " + std::to_string(kind) +
                              " is no kind of job"};
    }
    Job job{.kind = static_cast<JobKind>(kind),
            .target = json.at("target").get<std::string>(),
            .seed = count_of(json.at("seed")),
            .lease = count_of(json.at("lease")),
            .seconds = seconds_of(json.at("seconds")),
            .root = json.at("root").get<std::string>(),
            .work = json.at("work").get<std::string>(),
            .commit = json.at("commit").get<std::string>(),
            .mutant = json.at("mutant").get<std::string>(),
            .mute_canary = json.at("mute_canary").get<bool>(),
            .program = std::nullopt,
            .input = json.at("input").get<std::string>(),
            .death = json.at("death").get<std::string>(),
            .log = json.at("log").get<std::string>()};
    if (!json.at("program").is_null()) {
      job.program = count_of(json.at("program"));
    }
    return job;
  });
}

std::string print_result(JobResult const& result) {
  return text_of({{"programs", result.programs},
                  {"operations", result.operations},
                  {"met", result.met},
                  {"aliases", result.aliases},
                  {"transitions", result.transitions},
                  {"units", result.units}});
}

JobResult parse_result(std::string_view text, std::string const& origin) {
  return read_json(text, origin, [](Json const& json) {
    return JobResult{
        .programs = count_of(json.at("programs")),
        .operations = count_of(json.at("operations")),
        .met = json.at("met").get<std::map<std::string, std::uint64_t>>(),
        .aliases = json.at("aliases").get<Aliases>(),
        .transitions = json.at("transitions").get<std::vector<std::uint64_t>>(),
        .units = json.at("units").get<std::vector<std::string>>(),
    };
  });
}

std::string print_aliases(Aliases const& aliases) {
  return text_of(Json(aliases));
}

Aliases read_aliases(std::filesystem::path const& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return {};
  }
  return read_json(
      model::read_file(path), path.string(), [](Json const& json) { return json.get<Aliases>(); });
}

}  // namespace holdfast::fuzz
