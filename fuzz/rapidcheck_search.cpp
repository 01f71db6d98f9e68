// SPDX-License-Identifier: Apache-2.0
#include "fuzz/rapidcheck_search.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/generator.hpp"
#include "fuzz/op_fields.hpp"
#include "models/reference/model.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::Model;

constexpr std::uint32_t kMostOps = 100;  // of a program, as of any container of RapidCheck
constexpr std::uint32_t kMostRows = 32;
constexpr std::uint32_t kNames = 6;  // of each kind

template <typename T>
rc::Gen<T> any_of(std::uint32_t count) {
  std::vector<T> values;
  for (std::uint32_t i = 0; i < count; ++i) {
    values.push_back(T{i});
  }
  return rc::gen::elementOf(values);
}

/// Values of RapidCheck's generators, one after the other, all of one size.
class Draw {
 public:
  Draw(rc::Random const& random, int size) : random_{random}, size_{size} {}

  template <typename T>
  T operator()(rc::Gen<T> const& gen) {
    return gen(random_.split(), size_).value();
  }

 private:
  rc::Random random_;
  int size_;
};

/// Generators of the fields, by what they are.
struct FieldGens {
  rc::Gen<std::uint32_t> number = rc::gen::inRange<std::uint32_t>(0, kMostRows + 1);
  rc::Gen<std::uint32_t> flag = any_of<std::uint32_t>(2);
  rc::Gen<std::uint32_t> name = any_of<std::uint32_t>(kNames);
  rc::Gen<std::uint32_t> mode = any_of<std::uint32_t>(model::kStateModeCount);
  rc::Gen<std::uint32_t> damage = any_of<std::uint32_t>(model::kDamageCount);
  rc::Gen<std::uint32_t> fault = any_of<std::uint32_t>(model::kFaultKindCount);
  rc::Gen<std::uint32_t> deed = any_of<std::uint32_t>(model::kStepDeedCount);
  rc::Gen<std::uint32_t> liberty = any_of<std::uint32_t>(model::kLibertyCount);
  rc::Gen<std::uint32_t> mistake = any_of<std::uint32_t>(model::kMistakeCount);
  rc::Gen<std::uint32_t> items = rc::gen::inRange<std::uint32_t>(1, model::kStepItemLimit + 1);
};

/// Fills the fields of an operation. Tokens stay: they are numbered when the program is whole.
struct FieldDrawer {
  FieldGens const& gens;
  Model const& model;
  Draw& draw;

  template <typename T>
  void operator()(char const* name, T& value, T const& fallback) {
    // What has a default has it half of the time.
    if (draw(gens.flag) == 0) {
      value = fallback;
    } else {
      (*this)(name, value);
    }
  }
  void operator()(char const* name, std::uint32_t& value) {
    std::string_view const field = name;
    if (field != "token") {
      value = draw(field == "view" ? gens.flag : gens.number);
    }
  }
  void operator()(char const* /*name*/, model::SequenceName& name) {
    name.value = any_name(model.live_sequences());
  }
  void operator()(char const* /*name*/, model::SnapshotName& name) {
    name.value = any_name(model.live_snapshots());
  }
  void operator()(char const* /*name*/, model::EntryName& name) {
    name.value = any_name(model.live_entries());
  }
  void operator()(char const* /*name*/, model::StateMode& mode) {
    mode = static_cast<model::StateMode>(draw(gens.mode));
  }
  void operator()(char const* /*name*/, model::Damage& damage) {
    damage = static_cast<model::Damage>(draw(gens.damage));
  }
  void operator()(char const* /*name*/, model::WritePlan& plan) {
    plan.liberty = static_cast<model::Liberty>(draw(gens.liberty));
    plan.mistake = static_cast<model::Mistake>(draw(gens.mistake));
    plan.part = draw(gens.number);
    plan.reversed = draw(gens.flag) != 0;
  }
  void operator()(char const* /*name*/, model::KeyRule& keys) {
    keys = draw(gens.flag) == 0 ? model::KeyRule{} : model::key_rule(0, draw(gens.flag));
  }
  void operator()(char const* /*name*/, model::FaultKind& kind) {
    kind = static_cast<model::FaultKind>(draw(gens.fault));
  }
  void operator()(char const* /*name*/, model::StepParts& items) {
    items.count = draw(gens.items);
    for (std::uint32_t i = 0; i < items.count; ++i) {
      model::StepPart& part = items.parts[i];
      part.deed = static_cast<model::StepDeed>(draw(gens.deed));
      part.rows = draw(gens.number);
      if (part.deed != model::StepDeed::kPad) {
        part.sequence.value = any_name(model.live_sequences());
        part.keep = std::min(draw(gens.number), part.rows);
        part.mode = static_cast<model::StateMode>(draw(gens.mode));
        (*this)("keys", part.keys);
      }
    }
  }
  /// One of those that there are, or any.
  std::uint32_t any_name(std::span<std::uint32_t const> live) {
    return live.empty() || draw(gens.flag) == 0
               ? draw(gens.name)
               : draw(rc::gen::elementOf(std::vector(live.begin(), live.end())));
  }
};

/// One geometry, and operations as often as its mix says.
struct Setting {
  Runner runner;
  Model model;
  rc::Gen<std::uint32_t> kind;

  Setting(model::Geometry const& geometry, RunnerOptions const& options)
      : runner{geometry, options},
        model{model::make_model_shape(geometry.layout)},
        kind{kinds_of(geometry, options.faults)} {}

  static rc::Gen<std::uint32_t> kinds_of(model::Geometry const& geometry, bool faults) {
    std::vector<std::uint32_t> kinds;
    Generator const plain{geometry.mix};
    Weights const weights = (faults ? plain.with_faults() : plain).weights();
    for (std::uint32_t kind = 0; kind < weights.size(); ++kind) {
      kinds.insert(kinds.end(), weights[kind], kind);
    }
    return rc::gen::elementOf(kinds);
  }
};

class Programs {
 public:
  Programs(MutantPlan const& plan, RunnerOptions const& options) : seed_{plan.seed} {
    for (model::Geometry const& geometry : plan.geometries) {
      settings_.push_back(std::make_unique<Setting>(geometry, options));
    }
    setting_ = any_of<std::uint32_t>(static_cast<std::uint32_t>(settings_.size()));
  }

  ProgramResult run(std::uint64_t index) {
    Draw draw{rc::Random{program_seed(seed_, index)},
              static_cast<int>(index % (rc::kNominalSize + 1))};
    Setting& setting = *settings_[draw(*setting_)];
    setting.model.reset();
    std::vector<AnyOp> ops;
    for (std::uint32_t left = draw(length_); left != 0; --left) {
      std::optional<AnyOp> op = next(setting, draw);
      if (!op) {
        break;
      }
      ops.push_back(*op);
    }
    number_tokens(ops);
    return setting.runner.run_ops(ops);
  }

 private:
  /// An operation that can be run, which the model then knows; none after many tries.
  std::optional<AnyOp> next(Setting& setting, Draw& draw) const {
    constexpr std::uint32_t kTries = 100;
    for (std::uint32_t attempt = 0; attempt < kTries; ++attempt) {
      AnyOp op = plain_op(draw(setting.kind));
      FieldDrawer drawer{gens_, setting.model, draw};
      std::visit([&](auto& known) { known.fields(drawer); }, op);
      bool const can_run = std::visit(
          [&](auto const& known) {
            bool const holds = known.precondition(setting.model);
            if (holds) {
              static_cast<void>(known.apply(setting.model, {}));
            }
            return holds;
          },
          op);
      if (can_run) {
        return op;
      }
    }
    return std::nullopt;
  }

  std::uint64_t seed_;
  FieldGens gens_;
  rc::Gen<std::uint32_t> length_ = rc::gen::inRange<std::uint32_t>(1, kMostOps + 2);
  std::optional<rc::Gen<std::uint32_t>> setting_;
  std::vector<std::unique_ptr<Setting>> settings_;
};

}  // namespace

bool has_rapidcheck() noexcept {
  return true;
}

MutantSearch rapidcheck_search(MutantPlan const& plan) {
  return [&plan](MutantInfo const& info, OperationCount& counted) {
    return try_programs(info, plan, counted, [&plan](RunnerOptions const& options) {
      auto const programs = std::make_shared<Programs>(plan, options);
      return [programs](std::uint64_t index) { return programs->run(index); };
    });
  };
}

}  // namespace holdfast::fuzz
