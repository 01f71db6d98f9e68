// SPDX-License-Identifier: Apache-2.0
// Law of prefix entries: what is restored is what was there.
#include "tests/property/laws.hpp"

namespace holdfast::test {
namespace {

constexpr model::EntryName kEntry{0};

/// A sequence that appended only these tokens, and then made some moves.
Visible visible_with(Setting const& setting, std::span<Token const> tokens, Moves const& after) {
  Lab lab{setting.geometry.layout};
  must(lab.system().create(kS0));
  lab.play_serially(kS0, {tokens.begin(), tokens.end()});
  lab.play(kS0, after, kAfter);
  return lab.visible(kS0);
}

}  // namespace

void restored_is_the_original(Setting const& setting) {
  Moves const base = *any_moves(setting.kind);
  Moves const after = *any_moves(setting.kind);
  bool const left_alone = *rc::gen::arbitrary<bool>();
  bool const from_bytes = *rc::gen::arbitrary<bool>();
  std::vector<Token> const tokens = committed(base, kBase);
  auto const own = static_cast<std::uint32_t>(tokens.size());
  RC_PRE(own != 0U);
  Lab lab{setting.geometry.layout};
  Script script{lab};
  must(script.run(model::CreateOp{kS0}));
  script.play(kS0, base, kBase);
  must(script.run(model::SnapshotOp{kS0, kH0}));
  must(script.run(model::CaptureOp{kH0, kEntry}));
  if (left_alone) {
    script.play(kS0, after, kLeft);
    must(script.run(model::DropSnapshotOp{kH0}));
    must(script.run(model::ReleaseOp{kS0}));
  }
  if (from_bytes) {
    must(script.run(model::ReloadOp{kEntry}));
  }
  for (std::uint32_t limit = own, times = 1; limit != 0; ++times) {
    SequenceName const restored{times};
    Observation const got =
        script.run(model::RestoreOp{{.entry = kEntry, .first = own, .limit = limit}, restored});
    if (limit != own && got.is(ErrorCode::kMiss)) {
      return;  // no lesser length is usable
    }
    must(got);
    RC_ASSERT(got.value <= limit);
    RC_ASSERT(limit != own || got.value == own);
    auto const kept = std::span{tokens}.first(got.value);
    must_equal(lab.visible(restored), visible_with(setting, kept, {}), "what was restored");
    script.play(restored, after, kAfter);
    must_equal(lab.visible(restored), visible_with(setting, kept, after), "after going on");
    must(script.run(model::ReleaseOp{restored}));
    limit = got.value - 1;
  }
}

}  // namespace holdfast::test
