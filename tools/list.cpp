// SPDX-License-Identifier: Apache-2.0
// holdfast list: what there is to run, and to be caught.
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "fuzz/invariants_page.hpp"
#include "fuzz/order_page.hpp"
#include "fuzz/points.hpp"
#include "fuzz/swarm.hpp"
#include "fuzz/system_mutants.hpp"
#include "invariants/registry.hpp"
#include "models/geometry/geometry.hpp"
#include "models/ops/op_list.hpp"
#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"

namespace holdfast::tools {
namespace {

Json planes_of(Layout const& layout) {
  std::map<PlaneKind, std::uint32_t> counts;
  for (Layer const& layer : layout.layers) {
    for (PlaneSpec const& spec : layer.planes) {
      std::visit(
          [&](auto const& known) {
            known.describe([&](auto const& described) { ++counts[described.kind]; });
          },
          spec);
    }
  }
  Json planes = Json::object();
  for (auto const& [kind, count] : counts) {
    planes[name_of(kind)] = count;
  }
  return planes;
}

struct CapacityLister {
  Json& geometry;

  void size(std::string_view field, std::uint32_t value) const {
    geometry[std::string{field.substr(field.find('.') + 1)}] = value;
  }
  void optional(std::string_view field, std::uint32_t value) const { size(field, value); }
};

Json geometries() {
  Json array = Json::array();
  for (std::string const& name : model::built_in_geometry_names()) {
    model::Geometry const geometry = model::read_geometry(name);
    Layout const& layout = geometry.layout;
    array.push_back({{"name", geometry.name},
                     {"layers", layout.layers.size()},
                     {"planes", planes_of(layout)},
                     {"page_rows", layout.page_rows},
                     {"chunk_pages", layout.chunk_pages},
                     {"ranks", layout.ranks},
                     {"full_size", geometry.full_size},
                     {"lacks", geometry.lacks}});
    Capacity::fields(layout.capacity, CapacityLister{array.back()});
  }
  return array;
}

Json operations() {
  Json array = Json::array();
  for (std::uint32_t kind = 0; kind < model::AllOps::kCount; ++kind) {
    array.push_back({{"name", model::AllOps::kNames[kind]},
                     {"text", model::AllOps::kMeanings[kind]},
                     {"weight", model::AllOps::kWeights[kind].mix}});
  }
  return array;
}

Json flavors() {
  Json array = Json::array();
  for (fuzz::FlavorInfo const& info : fuzz::all_flavors()) {
    array.push_back({{"name", info.name}, {"text", info.text}});
  }
  return array;
}

Json invariants() {
  Json array = Json::array();
  for (invariant::Invariant const* const known : invariant::all_invariants()) {
    array.push_back({{"id", known->id},
                     {"area", known->area},
                     {"statement", known->statement},
                     {"needs", text_of(known->needs)},
                     {"more", text_of(known->more)},
                     {"cheap", known->cheap != nullptr},
                     {"deep", known->deep != nullptr}});
  }
  return array;
}

void add_mutants(model::SystemInfo const& system, Json& array) {
  for (fuzz::MutantInfo const& info : fuzz::mutants_of(&system)) {
    Json killers = Json::array();
    std::istringstream words{info.killers};
    for (std::string id; words >> id;) {
      killers.push_back(id);
    }
    array.push_back({{"name", info.name},
                     {"text", info.text},
                     {"system", system.name},
                     {"case", info.case_row},
                     {"killers", std::move(killers)}});
  }
}

Json mutants() {
  Json array = Json::array();
  for (model::SystemInfo const& system : model::all_systems()) {
    add_mutants(system, array);
  }
  return array;
}

Json systems() {
  Json array = Json::array();
  for (model::SystemInfo const& system : model::all_systems()) {
    array.push_back({{"name", system.name},
                     {"text", system.text},
                     {"offers", text_of(system.offers)},
                     {"mutants", fuzz::mutants_of(&system).size()}});
  }
  return array;
}

Json order() {
  Json array = Json::array();
  for (fuzz::OrderRule const& rule : fuzz::all_order_rules()) {
    Json mutants = Json::array();
    std::istringstream words{rule.mutants};
    for (std::string name; words >> name;) {
      mutants.push_back(name);
    }
    array.push_back({{"name", rule.name},
                     {"text", rule.text},
                     {"where", rule.where},
                     {"mutants", std::move(mutants)}});
  }
  return array;
}

Json sometimes() {
  Json array = Json::array();
  for (fuzz::PointInfo const& info : fuzz::all_points()) {
    array.push_back({{"name", info.name},
                     {"text", info.text},
                     {"of", info.of_harness ? "harness" : "library"}});
  }
  return array;
}

std::string string_of(Json const& json, char const* key) {
  return json.at(key).get<std::string>();
}

std::string geometry_line(Json const& geometry) {
  std::string planes;
  for (auto const& [kind, count] : geometry.at("planes").items()) {
    planes += fmt::format("{}{} {}", planes.empty() ? "" : ", ", count.get<std::uint32_t>(), kind);
  }
  std::string lacks;
  for (Json const& what : geometry.at("lacks")) {
    lacks += (lacks.empty() ? "; lacks: " : ", ") + what.get<std::string>();
  }
  return fmt::format("  {:<18} {} layers ({}), {} tokens, {}{}{}\n",
                     string_of(geometry, "name"),
                     geometry.at("layers").get<std::size_t>(),
                     planes,
                     geometry.at("tokens").get<std::uint32_t>(),
                     counted(geometry.at("ranks").get<std::uint32_t>(), "rank"),
                     geometry.at("full_size").get<bool>() ? ", full size" : "",
                     lacks);
}

std::string operation_line(Json const& operation) {
  return fmt::format("  {:<13} {} (weight {})\n",
                     string_of(operation, "name"),
                     string_of(operation, "text"),
                     operation.at("weight").get<std::uint32_t>());
}

std::string invariant_line(Json const& known) {
  bool const cheap = known.at("cheap").get<bool>();
  bool const deep = known.at("deep").get<bool>();
  std::string const more = string_of(known, "more");
  return fmt::format("  {:<9} {} ({}; needs {}{}): {}\n",
                     string_of(known, "id"),
                     string_of(known, "area"),
                     cheap && deep ? "cheap, deep" : (cheap ? "cheap" : "deep"),
                     string_of(known, "needs"),
                     more.empty() ? "" : "; judges more with " + more,
                     string_of(known, "statement"));
}

std::string flavor_line(Json const& flavor) {
  return fmt::format("  {:<9} {}\n", string_of(flavor, "name"), string_of(flavor, "text"));
}

std::string mutant_line(Json const& mutant) {
  std::string killers;
  for (Json const& id : mutant.at("killers")) {
    killers += (killers.empty() ? "" : ", ") + id.get<std::string>();
  }
  std::string const row = string_of(mutant, "case");
  return fmt::format("  {:<30} {}{} [{}]\n",
                     string_of(mutant, "name"),
                     string_of(mutant, "text"),
                     row.empty() ? "" : " (" + row + ")",
                     killers.empty() ? "any" : killers);
}

std::string rule_line(Json const& rule) {
  return fmt::format("  {:<11} {}\n", string_of(rule, "name"), string_of(rule, "text"));
}

std::string system_line(Json const& system) {
  return fmt::format("  {:<9} {} ({}; {})\n",
                     string_of(system, "name"),
                     string_of(system, "text"),
                     string_of(system, "offers"),
                     counted(system.at("mutants").get<std::size_t>(), "seeded bug"));
}

std::string point_line(Json const& point) {
  return fmt::format("  {:<26} {} ({})\n",
                     string_of(point, "name"),
                     string_of(point, "text"),
                     string_of(point, "of"));
}

struct Topic {
  char const* name;
  Json (*items)();
  std::string (*line)(Json const& item);
};

constexpr Topic kTopics[] = {{"geometries", geometries, geometry_line},
                             {"operations", operations, operation_line},
                             {"flavors", flavors, flavor_line},
                             {"invariants", invariants, invariant_line},
                             {"mutants", mutants, mutant_line},
                             {"order", order, rule_line},
                             {"sometimes", sometimes, point_line},
                             {"systems", systems, system_line}};

}  // namespace

int execute(ListOptions const& options) {
  if (options.markdown) {
    print(options.topic == "order" ? fuzz::order_page() : fuzz::invariants_page());
    return kExitHeld;
  }
  Json all = Json::object();
  std::string text;
  for (Topic const& topic : kTopics) {
    if (!options.topic.empty() && options.topic != topic.name) {
      continue;
    }
    Json const& items = all[topic.name] = topic.items();
    text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", topic.name);
    for (Json const& item : items) {
      text += topic.line(item);
    }
  }
  print(options.json ? text_of(all) : text);
  return kExitHeld;
}

}  // namespace holdfast::tools
