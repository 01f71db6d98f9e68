// SPDX-License-Identifier: Apache-2.0
// From coarse to fine: slice, chunks, pairs, names, merged appends, fields, geometry; again while anything
// gets smaller. A pass goes on where it stands after a success; it never starts over.
#include "fuzz/minimize_search.hpp"

#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "fuzz/dependencies.hpp"
#include "fuzz/op_fields.hpp"
#include "fuzz/plainer.hpp"
#include "models/input_error.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::Geometry;

/// More operations have too many pairs.
constexpr std::size_t kMostForPairs = 40;
/// Most times that one operation is made simpler in one pass.
constexpr std::uint32_t kMostFieldSteps = 64;
/// How many times as many rows an append may have.
constexpr std::uint32_t kMostGrowth = 16;

std::vector<AnyOp> picked(std::vector<AnyOp> const& ops,
                          std::vector<std::uint32_t> const& indices) {
  std::vector<AnyOp> chosen;
  chosen.reserve(indices.size());
  for (std::uint32_t const index : indices) {
    chosen.push_back(ops[index]);
  }
  return chosen;
}

/// Planes, then bytes: what a reader has to keep in mind, and what a run costs.
std::pair<std::size_t, std::uint64_t> size_of(Geometry const& geometry) {
  std::size_t planes = 0;
  for (Layer const& layer : geometry.layout.layers) {
    planes += layer.planes.size();
  }
  auto const needed = bytes_needed(geometry.layout);
  return {planes, needed ? needed->devices : 0};
}

/// Those that are run when nobody names one, if they are smaller; the smallest first.
std::vector<Geometry> smaller_geometries(Geometry const& geometry) {
  std::vector<Geometry> smaller;
  for (std::string const& name : model::default_geometry_names()) {
    smaller.push_back(model::load_geometry(name));
  }
  std::erase_if(smaller,
                [&](Geometry const& other) { return size_of(other) >= size_of(geometry); });
  std::stable_sort(smaller.begin(), smaller.end(), [](Geometry const& a, Geometry const& b) {
    return size_of(a) < size_of(b);
  });
  return smaller;
}

/// The operation in other forms and with one field simpler.
std::vector<AnyOp> forms_of(AnyOp const& op) {
  std::vector<AnyOp> forms = same_forms(op);
  std::vector<AnyOp> const simpler = simpler_forms(op);
  forms.insert(forms.end(), simpler.begin(), simpler.end());
  return forms;
}

}  // namespace

Wanted Wanted::of(Verdict const& verdict) {
  return {.ids = verdict.ids,
          .kind = verdict.at_end ? std::nullopt : std::optional{verdict.ops.back().index()},
          .died = verdict.died,
          .specs = verdict.specs,
          .at_end = verdict.at_end};
}

bool Wanted::is_met_by(Verdict const& verdict) const {
  if (!verdict.failed || verdict.died != died || verdict.ops.empty()) {
    return false;
  }
  if (keep == Keep::kFailure) {
    return true;
  }
  if (keep == Keep::kCause) {
    return (at_end || !verdict.at_end) &&
           (specs.empty() || verdict.specs.empty() || !common_ids(specs, verdict.specs).empty());
  }
  return verdict.at_end == !kind.has_value() && (!kind || verdict.ops.back().index() == *kind) &&
         !common_ids(ids, verdict.ids).empty();
}

std::vector<std::string> common_ids(std::vector<std::string> const& one,
                                    std::vector<std::string> const& other) {
  std::vector<std::string> common;
  std::copy_if(one.begin(), one.end(), std::back_inserter(common), [&](std::string const& id) {
    return std::find(other.begin(), other.end(), id) != other.end();
  });
  return common;
}

MinimizeSearch::MinimizeSearch(
    Geometry geometry, std::vector<AnyOp> ops, Wanted wanted, Judge judge, GoOn go_on)
    : geometry_{std::move(geometry)},
      ops_{std::move(ops)},
      wanted_{std::move(wanted)},
      judge_{std::move(judge)},
      go_on_{std::move(go_on)} {}

void MinimizeSearch::run() {
  slice();
  for (bool improved = true; improved && !stopped_;) {
    improved = remove_chunks();
    improved = remove_pairs() || improved;
    improved = unify_names() || improved;
    improved = merge_appends() || improved;
    improved = make_plainer() || improved;
    improved = make_larger_for_fewer() || improved;
    improved = simplify_fields() || improved;
    improved = simplify_geometry() || improved;
  }
  write_canonically();
}

bool MinimizeSearch::attempt(Geometry const& geometry, std::vector<AnyOp> ops) {
  std::string text = geometry.text;
  for (AnyOp const& op : ops) {
    text += '\n';
    model::print_op(op, text);
  }
  if (stopped_ || ops.empty() || !tried_.insert(XXH3_64bits(text.data(), text.size())).second) {
    return false;
  }
  stopped_ = !go_on_(candidates_++, ops_.size());
  if (stopped_) {
    return false;
  }
  Verdict verdict = judge_(geometry, ops);
  if (!wanted_.is_met_by(verdict)) {
    return false;
  }
  ops_ = std::move(verdict.ops);
  return true;
}

bool MinimizeSearch::attempt_without(std::size_t first, std::size_t last) {
  std::vector<AnyOp> rest = ops_;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(first),
             rest.begin() + static_cast<std::ptrdiff_t>(last));
  return attempt(std::move(rest));
}

void MinimizeSearch::slice() {
  for (Links const links : {Links::kNeeded, Links::kAll}) {
    std::vector<std::uint32_t> const indices = backward_slice(ops_, links);
    if (indices.size() < ops_.size() && attempt(picked(ops_, indices))) {
      return;
    }
  }
}

bool MinimizeSearch::remove_chunks() {
  bool improved = false;
  for (std::size_t size = std::max<std::size_t>(ops_.size() / 2, 1); size != 0; size /= 2) {
    // From the end on: what is later builds on what is earlier.
    for (std::size_t last = ops_.size(); last != 0;) {
      std::size_t const first = last > size ? last - size : 0;
      improved = attempt_without(first, last) || improved;
      last = std::min(first, ops_.size());
    }
  }
  return improved;
}

bool MinimizeSearch::remove_pairs() {
  bool improved = false;
  for (std::size_t later = ops_.size(); later-- > 1 && ops_.size() <= kMostForPairs;) {
    for (std::size_t earlier = std::min(later, ops_.size()); earlier-- > 0;) {
      if (later >= ops_.size()) {
        break;
      }
      std::vector<AnyOp> rest = ops_;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(later));
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(earlier));
      improved = attempt(std::move(rest)) || improved;
    }
  }
  return improved;
}

/// Lets one name stand for two: what made the second is left out with that.
bool MinimizeSearch::unify_names() {
  std::set<NameUse> names;
  for (AnyOp const& op : ops_) {
    std::vector<NameUse> const uses = names_in(op);
    names.insert(uses.begin(), uses.end());
  }
  bool improved = false;
  for (NameUse const& gone : names) {
    for (NameUse const& stays : names) {
      if (stays == gone || stays.kind != gone.kind) {
        continue;
      }
      std::vector<AnyOp> changed = ops_;
      for (AnyOp& op : changed) {
        rename(op, [&](NameUse use) { return use == gone ? stays.value : use.value; });
      }
      std::size_t const before = ops_.size();
      improved = (attempt(std::move(changed)) && ops_.size() < before) || improved;
    }
  }
  return improved;
}

bool MinimizeSearch::merge_appends() {
  bool improved = false;
  for (std::size_t index = ops_.size(); index-- > 0;) {
    improved = (index < ops_.size() && merge_at(index)) || improved;
  }
  return improved;
}

/// Merges an operation with the next one on its sequence.
bool MinimizeSearch::merge_at(std::size_t index) {
  std::vector<NameUse> const names = names_in(ops_[index]);
  for (std::size_t next = index + 1; next < ops_.size() && !names.empty(); ++next) {
    std::vector<NameUse> const others = names_in(ops_[next]);
    if (std::find(others.begin(), others.end(), names.front()) == others.end()) {
      continue;
    }
    std::optional<AnyOp> const both = joined(ops_[index], ops_[next]);
    if (!both) {
      return false;
    }
    // At either place: what lies between may need the rows, or must not see them.
    std::vector<AnyOp> rest = ops_;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(next));
    rest[index] = *both;
    number_tokens(rest);
    if (attempt(rest)) {
      return true;
    }
    rest = ops_;
    rest[next] = *both;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(index));
    number_tokens(rest);
    return attempt(std::move(rest));
  }
  return false;
}

/// What is done in one of several ways is done in the plainest.
bool MinimizeSearch::make_plainer() {
  bool improved = false;
  for (std::size_t index = ops_.size(); wanted_.keep == Keep::kCause && index-- > 0;) {
    if (index >= ops_.size()) {
      continue;
    }
    for (std::vector<AnyOp> const& plainer : plainer_programs(ops_, index)) {
      if (attempt(plainer)) {
        improved = true;
        break;
      }
    }
  }
  return improved;
}

/// Leaves one operation out, and lets an append have more rows for it.
bool MinimizeSearch::make_larger_for_fewer() {
  bool improved = false;
  for (std::size_t gone = ops_.size(); wanted_.keep == Keep::kCause && gone-- > 0;) {
    bool found = false;
    for (std::size_t grown = 0; !found && grown < ops_.size() && gone < ops_.size(); ++grown) {
      for (std::uint32_t factor = 2; !found && factor <= kMostGrowth; factor *= 2) {
        std::vector<AnyOp> changed = ops_;
        if (grown == gone || !grow(changed[grown], factor)) {
          break;
        }
        changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(gone));
        number_tokens(changed);
        std::size_t const before = ops_.size();
        found = attempt(std::move(changed)) && ops_.size() < before;
      }
    }
    improved = improved || found;
  }
  return improved;
}

bool MinimizeSearch::simplify_fields() {
  bool improved = false;
  for (std::size_t index = ops_.size(); index-- > 0;) {
    bool simpler = true;
    for (std::uint32_t step = 0; simpler && step < kMostFieldSteps; ++step) {
      simpler = false;
      if (index >= ops_.size()) {
        break;
      }
      for (AnyOp const& form : forms_of(ops_[index])) {
        std::vector<AnyOp> changed = ops_;
        changed[index] = form;
        if (attempt(std::move(changed))) {
          improved = simpler = true;
          break;
        }
      }
    }
  }
  return improved;
}

bool MinimizeSearch::simplify_geometry() {
  for (Geometry const& smaller : smaller_geometries(geometry_)) {
    if (attempt(smaller, ops_)) {
      geometry_ = smaller;
      return true;
    }
  }
  return geometry_.built_in ? drop_overrides() : drop_layers();
}

/// Of a geometry with other sizes: with fewer of them.
bool MinimizeSearch::drop_overrides() {
  auto sizes = model::parse_overrides(geometry_.overrides, geometry_.name);
  Geometry const plain = model::load_geometry(geometry_.name);
  bool improved = false;
  for (std::size_t index = sizes.size(); index-- > 0;) {
    auto fewer = sizes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
    try {
      Geometry const simpler = fewer.empty() ? plain : model::with_overrides(plain, fewer);
      if (attempt(simpler, ops_)) {
        geometry_ = simpler;
        sizes = fewer;
        improved = true;
      }
    } catch (model::InputError const&) {
      continue;  // the others do not go together without it
    }
  }
  return improved;
}

/// Of a geometry of the user's own: without each of its layers, and each plane of a layer.
bool MinimizeSearch::drop_layers() {
  bool improved = false;
  auto const attempt_text = [&](nlohmann::json const& document) {
    try {
      Geometry const smaller = model::geometry_from_reference(document.dump(-1, ' ', true));
      if (size_of(smaller) < size_of(geometry_) && attempt(smaller, ops_)) {
        geometry_ = smaller;
        improved = true;
        return true;
      }
    } catch (model::InputError const&) {
      return false;  // nothing is left, or no layout
    }
    return false;
  };
  auto document = nlohmann::json::parse(geometry_.text);
  for (std::size_t layer = document.at("layers").size(); layer-- > 0;) {
    auto without = document;
    without.at("layers").erase(layer);
    if (attempt_text(without)) {
      document = std::move(without);
      continue;
    }
    nlohmann::json const& item = document.at("layers").at(layer);
    for (std::size_t plane = item.contains("planes") ? item.at("planes").size() : 0; plane-- > 0;) {
      without = document;
      without.at("layers").at(layer).at("planes").erase(plane);
      if (attempt_text(without)) {
        document = std::move(without);
      }
    }
  }
  return improved;
}

/// Equal programs are equal texts, however they were found.
void MinimizeSearch::write_canonically() {
  attempt(picked(ops_, canonical_order(ops_)));
  std::vector<AnyOp> numbered = ops_;
  number_tokens(numbered);
  attempt(numbered);
  numbered = ops_;
  number_names(numbered);
  attempt(numbered);
}

}  // namespace holdfast::fuzz
