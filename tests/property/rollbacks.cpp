// SPDX-License-Identifier: Apache-2.0
// Laws of rollback and truncation: what was taken back never happened.
#include "tests/property/laws.hpp"

namespace holdfast::test {

void rollback_then_repeat(Setting const& setting) {
  Moves const base = *any_moves(setting.kind);
  Moves const undone = *any_moves(setting.kind);
  Moves const other = *any_moves(setting.kind);
  Moves const after = *any_moves(setting.kind);
  Lab lab{setting.geometry.layout};
  must(lab.system().create(kS0));
  lab.play(kS0, base, kBase);
  Visible const held = lab.visible(kS0);
  must(lab.system().snapshot(kS0, kH0));
  for (std::uint32_t times = 0; times < 2; ++times) {  // a restore point is good more than once
    lab.play(kS0, undone, kLeft);
    must(lab.system().rollback(kS0, kH0));
    must_equal(lab.visible(kS0), held, "after the rollback");
    must_equal(lab.visible(kH0), held, "the snapshot, after the rollback");
  }
  lab.play(kS0, other, kRight);
  must_equal(lab.visible(kS0),
             visible_after(setting.geometry, {{base, kBase}, {other, kRight}}),
             "after something else");
  must(lab.system().rollback(kS0, kH0));
  lab.play(kS0, undone, kLeft);
  must_equal(lab.visible(kS0),
             visible_after(setting.geometry, {{base, kBase}, {undone, kLeft}}),
             "after repeating");
  must(lab.system().drop_snapshot(kH0));
  lab.play(kS0, after, kAfter);
  must_equal(lab.visible(kS0),
             visible_after(setting.geometry, {{base, kBase}, {undone, kLeft}, {after, kAfter}}),
             "after going on");
}

void rollback_to_another(Setting const& setting) {
  Moves const own = *any_moves(setting.kind);
  Moves const others = *any_moves(setting.kind);
  Moves const after = *any_moves(setting.kind);
  bool const moves_on = *rc::gen::arbitrary<bool>();
  Lab lab{setting.geometry.layout};
  must(lab.system().create(kS0));
  must(lab.system().create(kS1));
  lab.play(kS0, own, kLeft);
  lab.play(kS1, others, kBase);
  Visible const held = lab.visible(kS1);
  must(lab.system().snapshot(kS1, kH0));
  if (moves_on) {
    lab.play(kS1, own, kRight);
  }
  Visible const other = lab.visible(kS1);
  must(lab.system().rollback(kS0, kH0));
  must_equal(lab.visible(kS0), held, "after the rollback");
  lab.play(kS0, after, kAfter);
  Visible const want = visible_after(setting.geometry, {{others, kBase}, {after, kAfter}});
  must_equal(lab.visible(kS0), want, "after going on");
  must_equal(lab.visible(kS1), other, "the snapshot's own sequence");
  must_equal(lab.visible(kH0), held, "the snapshot");
  must(lab.system().release(kS1, model::HandleEnd::kCalled));
  must(lab.system().drop_snapshot(kH0));
  must_equal(lab.visible(kS0), want, "when the others are gone");
}

void truncated_was_never_there(Setting const& setting) {
  Moves const base = *any_moves(setting.kind);
  Moves const more = *any_moves(setting.kind);
  Moves const after = *any_moves(setting.kind);
  Lab lab{setting.geometry.layout};
  must(lab.system().create(kS0));
  lab.play(kS0, base, kBase);
  lab.play(kS0, more, kLeft);
  std::vector<Token> tokens = committed(base, kBase);
  std::vector<Token> const left = committed(more, kLeft);
  tokens.insert(tokens.end(), left.begin(), left.end());
  Visible const whole = lab.visible(kS0);
  must(lab.system().snapshot(kS0, kH0));

  auto const own = static_cast<std::uint32_t>(tokens.size());
  auto const length = own - *rc::gen::inRange<std::uint32_t>(0, own + 1);
  Observation const answer = lab.system().can_truncate(kS0, length);
  RC_ASSERT(lab.system().truncate(kS0, length) == answer);
  must_equal(lab.visible(kH0), whole, "the snapshot");
  if (!answer.ok) {
    RC_ASSERT(answer.is(ErrorCode::kRefused));
    RC_ASSERT(length < own);
    must_equal(lab.visible(kS0), whole, "after the refusal");
    lab.play(kS0, after, kRight);
    must_equal(lab.visible(kS0),
               visible_after(setting.geometry, {{base, kBase}, {more, kLeft}, {after, kRight}}),
               "going on after the refusal");
    return;
  }
  Lab plain{setting.geometry.layout};
  must(plain.system().create(kS0));
  tokens.resize(length);
  plain.play_serially(kS0, tokens);
  must_equal(lab.visible(kS0), plain.visible(kS0), "after the truncation");
  lab.play(kS0, after, kRight);
  plain.play(kS0, after, kRight);
  must_equal(lab.visible(kS0), plain.visible(kS0), "after going on");
  must(lab.system().rollback(kS0, kH0));
  must_equal(lab.visible(kS0), whole, "after coming back");
}

}  // namespace holdfast::test
