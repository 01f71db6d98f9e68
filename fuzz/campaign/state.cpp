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
  return {.next_lease = json.at("next_lease").get<std::uint64_t>(),
          .jobs = json.at("jobs").get<std::uint64_t>(),
          .seconds = json.at("seconds").get<double>(),
          .programs = json.at("programs").get<std::uint64_t>(),
          .operations = json.at("operations").get<std::uint64_t>(),
          .coverage = json.at("coverage").get<std::uint64_t>(),
          .crashes = json.at("crashes").get<std::uint64_t>(),
          .time_outs = json.at("time_outs").get<std::uint64_t>(),
          .memory_kills = json.at("memory_kills").get<std::uint64_t>()};
}

HistoryPoint point_from(Json const& json) {
  return {.seconds = json.at(0).get<double>(),
          .programs = json.at(1).get<std::uint64_t>(),
          .transitions = json.at(2).get<std::uint64_t>(),
          .units = json.at(3).get<std::uint64_t>(),
          .findings = json.at(4).get<std::uint64_t>()};
}

CampaignState state_from(Json const& json, std::string const& origin) {
  CampaignState state{.seed = json.at("seed").get<std::uint64_t>(),
                      .commit = json.at("commit").get<std::string>(),
                      .mutant = json.at("mutant").get<std::string>(),
                      .elapsed = json.at("elapsed").get<double>(),
                      .merged = json.at("merged").get<double>(),
                      .starts = json.at("starts").get<std::uint64_t>(),
                      .canaries = json.at("canaries").get<std::uint64_t>(),
                      .targets = {},
                      .jobs = {},
                      .history = {}};
  for (auto const& [name, target] : json.at("targets").items()) {
    state.targets[name] = target_from(target);
  }
  for (Json const& job : json.at("jobs")) {
    state.jobs.push_back(parse_job(job.dump(), origin));
  }
  for (Json const& point : json.at("history")) {
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
