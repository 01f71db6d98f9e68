// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/state.hpp"

#include <nlohmann/json.hpp>

#include "fuzz/files.hpp"
#include "fuzz/json_text.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"

namespace holdfast::fuzz {
namespace {

Json json_of(TargetState const& target) {
  return {{"next_lease", target.next_lease},
          {"jobs", target.jobs},
          {"seconds", target.seconds},
          {"programs", target.programs},
          {"operations", target.operations},
          {"coverage", target.coverage},
          {"crashes", target.crashes},
          {"time_outs", target.time_outs},
          {"memory_kills", target.memory_kills}};
}

TargetState target_from(Json const& json) {
  return {.next_lease = count_of(json.at("next_lease")),
          .jobs = count_of(json.at("jobs")),
          .seconds = seconds_of(json.at("seconds")),
          .programs = count_of(json.at("programs")),
          .operations = count_of(json.at("operations")),
          .coverage = count_of(json.at("coverage")),
          .crashes = count_of(json.at("crashes")),
          .time_outs = count_of(json.at("time_outs")),
          .memory_kills = count_of(json.at("memory_kills"))};
}

HistoryPoint point_from(Json const& json) {
  return {.seconds = seconds_of(json.at(0)),
          .programs = count_of(json.at(1)),
          .transitions = count_of(json.at(2)),
          .units = count_of(json.at(3)),
          .findings = count_of(json.at(4))};
}

CampaignState state_from(Json const& json, std::string const& origin) {
  CampaignState state{.seed = count_of(json.at("seed")),
                      .commit = json.at("commit").get<std::string>(),
                      .mutant = json.at("mutant").get<std::string>(),
                      .elapsed = seconds_of(json.at("elapsed")),
                      .merged = seconds_of(json.at("merged")),
                      .starts = count_of(json.at("starts")),
                      .canaries = count_of(json.at("canaries")),
                      .targets = {},
                      .jobs = {},
                      .history = {}};
  for (auto const& [name, target] : json.at("targets").get<std::map<std::string, Json>>()) {
    if (!is_target_name(name)) {
      throw model::InputError{origin + ": is damaged: '" + name + "' is no target"};
    }
    state.targets[name] = target_from(target);
  }
  for (Json const& job : json.at("jobs").get<std::vector<Json>>()) {
    state.jobs.push_back(parse_job(job.dump(), origin));
  }
  for (Json const& point : json.at("history").get<std::vector<Json>>()) {
    state.history.push_back(point_from(point));
  }
  return state;
}

}  // namespace

std::string print_state(CampaignState const& state) {
  Json targets = Json::object();
  for (auto const& [name, target] : state.targets) {
    targets[name] = json_of(target);
  }
  Json jobs = Json::array();
  for (Job const& job : state.jobs) {
    jobs.push_back(Json::parse(print_job(job)));
  }
  Json history = Json::array();
  for (HistoryPoint const& point : state.history) {
    history.push_back(
        {point.seconds, point.programs, point.transitions, point.units, point.findings});
  }
  Json const json = {{"seed", state.seed},
                     {"commit", state.commit},
                     {"mutant", state.mutant},
                     {"elapsed", state.elapsed},
                     {"merged", state.merged},
                     {"starts", state.starts},
                     {"canaries", state.canaries},
                     {"targets", targets},
                     {"jobs", jobs},
                     {"history", history}};
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

CampaignState read_state(std::filesystem::path const& path) {
  std::string const text = model::read_file(path);
  try {
    return state_from(Json::parse(text), path.string());
  } catch (nlohmann::json::exception const& error) {
    throw model::InputError{path.string() + ": is damaged: " + error.what()};
  }
}

}  // namespace holdfast::fuzz
