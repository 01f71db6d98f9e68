// SPDX-License-Identifier: Apache-2.0
// Law of chunked appends: how rows come does not matter.
#include "tests/property/laws.hpp"

namespace holdfast::test {

void chunks_are_one_append(Setting const& setting) {
  constexpr std::uint32_t kMostChunkRows = 44;  // more than two laps of the rings
  Moves const base = *any_moves(setting.kind);
  Moves const chunks = *any_whole_moves(setting.kind, kMostChunkRows);
  Move const whole{.rows = rows_of(chunks),
                   .keep = rows_of(chunks),
                   .piece = *any_piece(),
                   .view = *rc::gen::arbitrary<bool>(),
                   .mode = *any_append_mode()};
  RC_PRE(whole.rows != 0U);
  Lab lab{setting.geometry.layout};
  must(lab.system().create(kS0));
  lab.play(kS0, base, kBase);
  lab.play(kS0, chunks, kLeft);
  must_equal(lab.visible(kS0),
             visible_after(setting.geometry, {{base, kBase}, {{whole}, kLeft}}),
             "after the chunks");
}

}  // namespace holdfast::test
