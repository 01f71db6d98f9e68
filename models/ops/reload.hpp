// SPDX-License-Identifier: Apache-2.0
// reload: turns a prefix entry into bytes, erases it, and makes it again of the bytes.
#pragma once

#include "models/ops/pick.hpp"
#include "models/system.hpp"

namespace holdfast::model {

/// reload entry=e0
struct ReloadOp {
  static constexpr char const* kName = "reload";
  EntryName entry;

  [[nodiscard]] bool precondition(Model const& model) const { return model.is_created(entry); }
  Observation apply(Model& model, Observation const& got) const {
    return model.reload(entry, got.is(ErrorCode::kExhausted));
  }
  Observation run(System& system) const { return system.reload(entry); }
  static std::optional<ReloadOp> generate(GenerateContext const& context) {
    auto const name = pick_entry(context);
    return name ? std::optional{ReloadOp{*name}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("entry", entry);
  }
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
