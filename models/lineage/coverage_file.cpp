// SPDX-License-Identifier: Apache-2.0
// Coverage as JSON. States are numbers: the version changes with what they mean.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "models/geometry/json_reader.hpp"
#include "models/input_error.hpp"
#include "models/lineage/coverage.hpp"

namespace holdfast::model {
namespace {

constexpr std::uint32_t kCoverageVersion = 1;
constexpr std::uint32_t kOutcomeLimit = 64;

std::uint32_t read_below(JsonPlace const& place, std::uint32_t limit) {
  std::uint32_t const number = place.number();
  if (number >= limit) {
    place.refuse("must be less than " + std::to_string(limit));
  }
  return number;
}

std::uint64_t read_count(JsonPlace const& place) {
  if (!place.value().is_number_unsigned()) {
    place.refuse("must be a number");
  }
  return place.value().get<std::uint64_t>();
}

std::uint32_t read_op(JsonPlace const& place) {
  auto const& names = AllOps::kNames;
  auto const known = std::find(names.begin(), names.end(), place.string());
  if (known == names.end()) {
    place.refuse("is no operation that is known");
  }
  return static_cast<std::uint32_t>(known - names.begin());
}

std::uint32_t read_outcome(JsonPlace const& place) {
  std::string const& text = place.string();
  for (std::uint32_t outcome = 0; outcome < kOutcomeLimit; ++outcome) {
    if (text == outcome_name(outcome)) {
      return outcome;
    }
  }
  place.refuse("is no outcome that is known");
}

}  // namespace

std::string Coverage::print() const {
  nlohmann::ordered_json json = {{"holdfast_coverage", kCoverageVersion}, {"programs", programs_}};
  auto& states = json["states"] = nlohmann::ordered_json::array();
  for (auto const& [state, trace] : witnesses_) {
    states.push_back({{"state", state},
                      {"text", text_of(AbstractState::from_key(state))},
                      {"witness", print_trace(trace)}});
  }
  auto& list = json["edges"] = nlohmann::ordered_json::array();
  for (auto const& [edge, ends] : edges_) {
    for (auto const& [end, count] : ends) {
      list.push_back({{"from", edge.from},
                      {"op", AllOps::kNames[edge.op]},
                      {"outcome", outcome_name(edge.outcome)},
                      {"to", end},
                      {"count", count}});
    }
  }
  return json.dump(1, ' ', true) + "\n";
}

Coverage Coverage::parse(std::string_view text, std::string const& origin) {
  nlohmann::json const document = parse_json(text, origin);
  JsonPlace const root{document, origin};
  root.expect_object({"holdfast_coverage", "programs", "states", "edges"}, {});
  if (root.at("holdfast_coverage").number() != kCoverageVersion) {
    root.at("holdfast_coverage")
        .refuse("is another version than " + std::to_string(kCoverageVersion));
  }
  Coverage coverage;
  coverage.programs_ = read_count(root.at("programs"));
  JsonPlace const states = root.at("states");
  for (std::size_t i = 0, count = states.expect_array(); i < count; ++i) {
    JsonPlace const item = states.at(i);
    item.expect_object({"state", "text", "witness"}, {});
    coverage.note_witness(
        read_below(item.at("state"), kStateKeyLimit),
        parse_trace(item.at("witness").string(), origin + ": " + item.at("witness").path()));
  }
  JsonPlace const edges = root.at("edges");
  for (std::size_t i = 0, size = edges.expect_array(); i < size; ++i) {
    JsonPlace const item = edges.at(i);
    item.expect_object({"from", "op", "outcome", "to", "count"}, {});
    CoverageEdge const edge{.from = read_below(item.at("from"), kStateKeyLimit),
                            .op = read_op(item.at("op")),
                            .outcome = read_outcome(item.at("outcome"))};
    std::uint64_t& count = coverage.edges_[edge][read_below(item.at("to"), kStateKeyLimit)];
    count = sum_of(count, read_count(item.at("count")));
  }
  return coverage;
}

}  // namespace holdfast::model
