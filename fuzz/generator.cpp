// SPDX-License-Identifier: Apache-2.0
// The generator's dispatch over the operation list.
#include "fuzz/generator.hpp"

#include <numeric>

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
constexpr std::array<GenerateFunction, AllOps::kCount> make_table(
    std::integer_sequence<std::uint32_t, I...> /*indices*/) {
  return {&generate_kind<I>...};
}

constexpr auto kGenerators =
    make_table(std::make_integer_sequence<std::uint32_t, AllOps::kCount>{});

bool holds(AnyOp const& op, model::Model const& model) {
  return std::visit([&](auto const& known) { return known.precondition(model); }, op);
}

}  // namespace

Generator::Generator(model::OperationMix const& mix) : mean_rows_{mix.mean_rows} {
  std::array<std::uint32_t, AllOps::kCount> weights{};
  if (mix.weights.empty()) {
    weights.fill(1);
  }
  for (auto const& [name, weight] : mix.weights) {
    std::uint32_t index = 0;
    while (index < AllOps::kCount && name != AllOps::kNames[index]) {
      ++index;
    }
    if (index == AllOps::kCount) {
      throw model::InputError("mix: no operation is called '" + name + "'");
    }
    weights[index] = weight;
  }
  std::partial_sum(weights.begin(), weights.end(), upto_.begin());
}

AnyOp Generator::next(model::Source& source, model::Model const& model) const {
  GenerateContext const context{source, model, mean_rows_};
  constexpr std::uint32_t kTries = 16;  // most kinds make sense most of the time
  for (std::uint32_t attempt = 0; attempt < kTries; ++attempt) {
    std::uint32_t const drawn = source.below(upto_.back());
    std::uint32_t kind = 0;
    while (upto_[kind] <= drawn) {
      ++kind;
    }
    if (auto op = kGenerators[kind](context); op && holds(*op, model)) {
      return *op;
    }
  }
  // Nothing fits, as in an empty program: a sequence is always possible.
  return *model::CreateOp::generate(context);
}

std::uint32_t program_length(std::uint64_t seed) noexcept {
  model::Source source{model::mix(seed, 0x6C656E677468U)};
  return source.one_in(2) ? source.between(8, 24) : source.between(24, 64);
}

}  // namespace holdfast::fuzz
