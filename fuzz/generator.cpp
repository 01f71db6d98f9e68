// SPDX-License-Identifier: Apache-2.0
// The generator's dispatch over the operation list.
#include "fuzz/generator.hpp"

#include <algorithm>
#include <numeric>

#include "fuzz/op_fields.hpp"

namespace holdfast::fuzz {
namespace {

using model::AllOps;
using model::AnyOp;
using model::GenerateContext;

using GenerateFunction = std::optional<AnyOp> (*)(GenerateContext const& context);

template <std::uint32_t I>
std::optional<AnyOp> generate_kind(GenerateContext const& context) {
  auto op = std::variant_alternative_t<I, AnyOp>::generate(context);
  return op ? std::optional<AnyOp>{AnyOp{std::in_place_index<I>, *op}} : std::nullopt;
}

template <std::uint32_t... I>
constexpr std::array<GenerateFunction, AllOps::kCount> make_generators(
    std::integer_sequence<std::uint32_t, I...> /*indices*/) {
  return {&generate_kind<I>...};
}

constexpr auto kGenerators =
    make_generators(std::make_integer_sequence<std::uint32_t, AllOps::kCount>{});

/// The first kind that makes a sequence of nothing.
constexpr std::uint32_t kStart = AllOps::first([](model::Effects const& effects) {
  return effects.makes.has(model::Thing::kSequence) && effects.loads.is_empty();
});
/// The first kind that waits: it makes sense everywhere.
constexpr std::uint32_t kWait = AllOps::first(
    [](model::Effects const& effects) { return effects.ends.has(model::Thing::kPending); });
static_assert(kStart < AllOps::kCount && kWait < AllOps::kCount);

bool holds(AnyOp const& op, model::Model const& model) {
  return std::visit([&](auto const& known) { return known.precondition(model); }, op);
}

/// Remembers the names of an operation.
struct LastNoter {
  model::LastNames& last;

  template <typename T>
  void operator()(char const* name, T& value, T const& /*fallback*/) {
    (*this)(name, value);
  }
  template <typename T>
  void operator()(char const* /*name*/, T& /*value*/) {}  // names nobody
  void operator()(char const* /*name*/, model::SequenceName& name) { last.sequence = name; }
  void operator()(char const* /*name*/, model::SnapshotName& name) { last.snapshot = name; }
  void operator()(char const* /*name*/, model::EntryName& name) { last.entry = name; }
  void operator()(char const* /*name*/, model::StepParts& items) {
    if (items.count != 0 && items.parts[0].deed != model::StepDeed::kPad) {
      last.sequence = items.parts[0].sequence;
    }
  }
};

void note_names(AnyOp& op, model::LastNames& last) {
  LastNoter noter{last};
  std::visit([&](auto& known) { known.fields(noter); }, op);
}

}  // namespace

Generator::Generator(model::OperationMix const& mix) : habits_{.mean_rows = mix.mean_rows} {
  for (std::uint32_t kind = 0; kind < AllOps::kCount; ++kind) {
    weights_[kind] = AllOps::kWeights[kind].mix;
  }
  for (auto const& [name, weight] : mix.weights) {
    std::uint32_t index = 0;
    while (index < AllOps::kCount && name != AllOps::kNames[index]) {
      ++index;
    }
    if (index == AllOps::kCount) {
      throw model::InputError("mix: no operation is called '" + name + "'");
    }
    weights_[index] = weight;
  }
  std::partial_sum(weights_.begin(), weights_.end(), upto_.begin());
  if (upto_.back() == 0) {
    throw model::InputError("mix: all weights are 0");
  }
}

Generator::Generator(Weights const& weights, model::Habits const& habits) noexcept
    : weights_{weights}, habits_{habits} {
  std::partial_sum(weights_.begin(), weights_.end(), upto_.begin());
}

Generator Generator::with_faults() const noexcept {
  constexpr std::uint32_t kRate = 12;  // operations between two faults
  Weights weights = weights_;
  std::uint32_t const share = std::max(upto_.back() / kRate, 1U);
  for (std::uint32_t kind = 0; kind < AllOps::kCount; ++kind) {
    model::Weight const& own = AllOps::kWeights[kind];
    weights[kind] = own.fault_share != 0 ? std::max(share * own.fault_share / 2, 1U)
                                         : weights[kind] * own.fault_times;
  }
  return {weights, habits_};
}

Generator Generator::with_streams() const noexcept {
  constexpr std::uint32_t kRate = 3;   // other operations between two
  constexpr std::uint32_t kTimes = 4;  // of what is held, and of what loads it
  Weights weights = weights_;
  for (std::uint32_t kind = 0; kind < AllOps::kCount; ++kind) {
    model::Effects const& effects = AllOps::kEffects[kind];
    if (!effects.loads.is_empty() || effects.makes.has(model::Thing::kSnapshot)) {
      weights[kind] *= kTimes;
    }
  }
  std::uint32_t const sum = std::accumulate(weights.begin(), weights.end(), 0U);
  for (std::uint32_t kind = 0; kind < AllOps::kCount; ++kind) {
    if (AllOps::kEffects[kind].changes.has(model::Thing::kStream)) {
      weights[kind] = std::max(sum / kRate, 1U);
    }
  }
  return {weights, habits_};
}

AnyOp Generator::next(model::Source& source,
                      model::Model const& model,
                      model::LastNames& last) const {
  GenerateContext const context{source, model, habits_, last};
  constexpr std::uint32_t kTries = 16;  // most kinds make sense most of the time
  for (std::uint32_t attempt = 0; attempt < kTries; ++attempt) {
    std::uint32_t const drawn = source.below(upto_.back());
    std::uint32_t kind = 0;
    while (upto_[kind] <= drawn) {
      ++kind;
    }
    if (auto op = kGenerators[kind](context); op && holds(*op, model)) {
      note_names(*op, last);
      return *op;
    }
  }
  // Nothing fits, as in an empty program: a sequence is possible until there is no name left.
  AnyOp op = kGenerators[kStart](context).value_or(plain_op(kWait));
  note_names(op, last);
  return op;
}

AnyOp first_op() {
  return plain_op(kStart);
}

std::uint32_t program_length(std::uint64_t seed) noexcept {
  model::Source source{model::mix(seed, 0x6C656E677468U)};
  return source.one_in(2) ? source.between(8, 24) : source.between(24, 64);
}

}  // namespace holdfast::fuzz
