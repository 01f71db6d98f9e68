// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/target.hpp"

#include <algorithm>
#include <filesystem>

#include "models/geometry/json_reader.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"

namespace holdfast::fuzz {
namespace {

using model::EngineKind;
using model::EngineOp;
using model::JsonPlace;

std::string text_in(JsonPlace const& place) {
  return place.value().is_number_unsigned() ? std::to_string(place.number()) : place.string();
}

double positive(JsonPlace const& place) {
  double const value = place.value().is_number() ? place.value().get<double>() : 0;
  if (!(value > 0 && value < 1e9)) {
    place.refuse("a number above 0 is wanted");
  }
  return value;
}

EngineKind kind_in(JsonPlace const& place) {
  EngineKind const kind = model::engine_kind_named(place.string());
  if (kind == EngineKind::kCount) {
    place.refuse("no operation of engines is called " + model::quoted(place.string()));
  }
  return kind;
}

Avoidance avoidance_in(JsonPlace const& place) {
  place.expect_object({"operation"}, {"knobs", "after", "until", "same", "when", "items", "rows"});
  Avoidance avoid{.kind = kind_in(place.at("operation"))};
  if (place.has("knobs")) {
    place.at("knobs").expect_object();
    for (auto const& [name, value] : place.at("knobs").value().items()) {
      avoid.knobs[name] = text_in(place.at("knobs").at(name));
    }
  }
  if (place.has("after")) {
    avoid.after = kind_in(place.at("after"));
  }
  if (place.has("until")) {
    avoid.until = kind_in(place.at("until"));
  }
  avoid.same = place.has("same") && place.at("same").boolean();
  if (place.has("when")) {
    avoid.when.emplace();
    try {
      model::parse_condition(place.at("when").string(), *avoid.when);
    } catch (model::InputError const& error) {
      place.at("when").refuse(error.what());
    }
  }
  avoid.items = place.number_or("items", 0);
  avoid.rows = place.number_or("rows", 0);
  return avoid;
}

KnownFinding known_in(JsonPlace const& place) {
  place.expect_object({"name", "bucket", "avoid"}, {"note"});
  KnownFinding known{place.at("name").string(), place.at("bucket").string(), {}};
  JsonPlace const avoid = place.at("avoid");
  if (avoid.value().is_array()) {
    for (std::size_t i = 0; i < avoid.expect_array(); ++i) {
      known.avoid.push_back(avoidance_in(avoid.at(i)));
    }
  } else {
    known.avoid.push_back(avoidance_in(avoid));
  }
  return known;
}

void read_limits(JsonPlace const& place, Target& target) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
  if (place.has("tolerance")) {
    target.tolerance = positive(place.at("tolerance"));
  }
  if (place.has("seconds")) {
    target.limits.seconds = positive(place.at("seconds"));
  }
  if (place.has("start_seconds")) {
    target.limits.start_seconds = positive(place.at("start_seconds"));
  }
  if (place.has("memory_mib")) {
    target.limits.memory = place.at("memory_mib").number() * kMiB;
  }
}

bool is_on_same(EngineOp const& op, EngineOp const& earlier, model::HistoryModel const& model) {
  auto const about = [&](EngineOp const& known) {
    bool const reads = model::info_of(known.kind).has(model::kSequence);
    return model.named(known) | (reads ? model::SequenceSet{1} << known.sequence : 0);
  };
  return (about(op) & about(earlier)) != 0;
}

}  // namespace

bool Avoidance::matches(EngineOp const& op,
                        std::vector<EngineOp> const& before,
                        model::HistoryModel const& model) const {
  if (op.kind != kind || op.items.size() < items || model::rows_of(op) < rows ||
      !model::Clause{.kind = kind, .knobs = knobs}.is_for(kind, model.knobs()) ||
      (when && !model.holds(*when, op))) {
    return false;
  }
  auto const ended = std::find_if(before.rbegin(), before.rend(), [&](EngineOp const& earlier) {
    return earlier.kind == until;
  });
  return after == EngineKind::kCount ||
         std::any_of(before.rbegin(), ended, [&](EngineOp const& earlier) {
           return earlier.kind == after && (!same || is_on_same(op, earlier, model));
         });
}

bool KnownFinding::leaves_out(EngineOp const& op,
                              std::vector<EngineOp> const& before,
                              model::HistoryModel const& model) const {
  return std::any_of(avoid.begin(), avoid.end(), [&](Avoidance const& one) {
    return one.matches(op, before, model);
  });
}

bool is_avoided(Target const& target,
                std::string const& tried_again,
                EngineOp const& op,
                std::vector<EngineOp> const& before,
                model::HistoryModel const& model) {
  return std::any_of(target.known.begin(), target.known.end(), [&](KnownFinding const& known) {
    return known.name != tried_again && known.leaves_out(op, before, model);
  });
}

std::set<std::size_t> known_in(Target const& target,
                               model::Hello const& hello,
                               model::Knobs const& knobs,
                               std::vector<EngineOp> const& ops) {
  std::set<std::size_t> places;
  model::HistoryModel model{hello, knobs};
  std::vector<EngineOp> before;
  for (EngineOp const& op : ops) {
    if (!model.makes_sense(op)) {  // it is not sent
      continue;
    }
    for (std::size_t i = 0; i < target.known.size(); ++i) {
      if (places.count(i) == 0 && target.known[i].leaves_out(op, before, model)) {
        places.insert(i);
      }
    }
    model.apply(op, model.likely(op));
    before.push_back(op);
  }
  return places;
}

Target load_target(std::string const& path) {
  nlohmann::json const document = model::parse_json(model::read_file(path), path);
  JsonPlace const place{document, path};
  place.expect_object(
      {"name", "command"},
      {"knobs", "tolerance", "seconds", "start_seconds", "memory_mib", "known", "note"});
  Target target{.name = place.at("name").string()};
  if (target.name.empty() || target.name.find_first_of(" \n\t") != std::string::npos) {
    place.at("name").refuse("a name is one word");
  }
  for (std::size_t i = 0; i < place.at("command").expect_array(); ++i) {
    target.command.push_back(place.at("command").at(i).string());
  }
  if (target.command.empty() || target.command.front().empty()) {
    place.at("command").refuse("a command has a word at least");
  }
  std::string& program = target.command.front();
  if (program.rfind("./", 0) == 0 || program.rfind("../", 0) == 0) {
    program = (std::filesystem::path{path}.parent_path() / program).string();
    program = program.find('/') == std::string::npos ? "./" + program : program;
  }
  if (place.has("knobs")) {
    JsonPlace const knobs = place.at("knobs");
    knobs.expect_object();
    for (auto const& [name, values] : knobs.value().items()) {
      if (knobs.at(name).expect_array() == 0) {
        knobs.at(name).refuse("a knob has a value at least");
      }
      for (std::size_t i = 0; i < knobs.at(name).expect_array(); ++i) {
        target.knobs[name].push_back(text_in(knobs.at(name).at(i)));
      }
    }
  }
  read_limits(place, target);
  for (std::size_t i = 0; place.has("known") && i < place.at("known").expect_array(); ++i) {
    target.known.push_back(known_in(place.at("known").at(i)));
  }
  return target;
}

void check_fits(Target const& target, model::Hello const& hello) {
  std::string const origin = "target " + target.name;
  for (auto const& [name, values] : target.knobs) {
    for (std::string const& value : values) {
      static_cast<void>(hello.completed({{name, value}}, origin));
    }
  }
  for (KnownFinding const& known : target.known) {
    for (Avoidance const& avoid : known.avoid) {
      for (auto const& wanted : avoid.knobs) {
        std::string const& name = wanted.first;
        bool const exists =
            std::any_of(hello.knobs.begin(), hello.knobs.end(), [&](model::KnobInfo const& knob) {
              return knob.name == name;
            });
        if (!exists) {
          throw model::InputError(origin + ": known finding " + known.name +
                                  ": the engine has no knob " + model::quoted(name));
        }
      }
    }
  }
}

Target target_of_command(std::vector<std::string> const& command) {
  return {.name = std::filesystem::path{command.front()}.filename().string(), .command = command};
}

}  // namespace holdfast::fuzz
