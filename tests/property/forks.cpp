// SPDX-License-Identifier: Apache-2.0
// Laws of forks: two sequences that share storage are as two that do not.
#include "tests/property/laws.hpp"

namespace holdfast::test {
namespace {

enum class Deed : std::uint8_t { kMove, kTruncate, kRollback, kSnapshot };

/// What one side of a fork does.
struct Act {
  bool on_fork = false;
  Deed deed = Deed::kMove;
  Move move;
  std::uint32_t cut = 0;  // rows that a truncation takes away
};

void showValue(Act const& act, std::ostream& out) {  // NOLINT: RapidCheck's name
  out << (act.on_fork ? "fork: " : "first: ");
  switch (act.deed) {
    case Deed::kMove:
      showValue(act.move, out);
      break;
    case Deed::kTruncate:
      out << "truncate by " << act.cut;
      break;
    case Deed::kRollback:
      out << "rollback";
      break;
    case Deed::kSnapshot:
      out << "snapshot again";
      break;
  }
}

rc::Gen<Act> any_act(StateMode kind) {
  return rc::gen::build<Act>(rc::gen::set(&Act::on_fork, rc::gen::arbitrary<bool>()),
                             rc::gen::set(&Act::deed,
                                          rc::gen::weightedElement<Deed>({{7, Deed::kMove},
                                                                          {2, Deed::kTruncate},
                                                                          {1, Deed::kRollback},
                                                                          {1, Deed::kSnapshot}})),
                             rc::gen::set(&Act::move, any_move(kind)),
                             rc::gen::set(&Act::cut, rc::gen::inRange<std::uint32_t>(0, 6)));
}

/// Does it on one side; a move that would be too long is left out.
void perform(Lab& lab, Act const& act, Token token) {
  SequenceName const name = act.on_fork ? kS1 : kS0;
  SnapshotName const own{act.on_fork ? 2U : 1U};
  std::uint32_t const position = lab.position(name);
  switch (act.deed) {
    case Deed::kMove:
      if (position + act.move.rows <= lab.shape().capacity.tokens) {
        lab.play(name, act.move, token);
      }
      break;
    case Deed::kTruncate: {
      Observation const cut = lab.system().truncate(name, position - std::min(position, act.cut));
      RC_ASSERT(cut.ok || cut.is(ErrorCode::kRefused));
      break;
    }
    case Deed::kRollback:
      must(lab.system().rollback(name, kH0));
      break;
    case Deed::kSnapshot:  // the one before is dropped
      must(lab.system().snapshot(name, own));
      break;
  }
}

}  // namespace

void forks_are_apart(Setting const& setting) {
  Moves const base = *any_moves(setting.kind);
  auto const acts = *rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 9), [&](std::size_t count) {
    return rc::gen::container<std::vector<Act>>(count, any_act(setting.kind));
  });
  Lab lab{setting.geometry.layout};
  must(lab.system().create(kS0));
  lab.play(kS0, base, kBase);
  Visible const held = lab.visible(kS0);
  must(lab.system().snapshot(kS0, kH0));
  must(lab.system().fork(kH0, kS1));
  must_equal(lab.visible(kS1), held, "the fork");
  Token token = kLeft;
  for (Act const& act : acts) {
    SequenceName const other = act.on_fork ? kS0 : kS1;
    Visible const before = lab.visible(other);
    perform(lab, act, token);
    token += act.move.rows;
    must_equal(lab.visible(other), before, "the other side");
    must_equal(lab.visible(kH0), held, "the snapshot");
  }
  Visible const last = lab.visible(kS1);
  must(lab.system().drop_snapshot(kH0));
  must(lab.system().release(kS0, model::HandleEnd::kCalled));
  must_equal(lab.visible(kS1), last, "the fork, left alone");
}

void forks_are_histories(Setting const& setting) {
  Moves const base = *any_moves(setting.kind);
  Moves const left = *any_moves(setting.kind);
  Moves const right = *any_moves(setting.kind);
  auto const order = *rc::gen::container<std::vector<bool>>(left.size() + right.size(),
                                                            rc::gen::arbitrary<bool>());
  Lab lab{setting.geometry.layout};
  must(lab.system().create(kS0));
  lab.play(kS0, base, kBase);
  must(lab.system().snapshot(kS0, kH0));
  must(lab.system().fork(kH0, kS1));
  std::size_t done_left = 0;
  std::size_t done_right = 0;
  Token left_token = kLeft;
  Token right_token = kRight;
  for (bool const wants_left : order) {
    if ((wants_left && done_left < left.size()) || done_right == right.size()) {
      lab.play(kS0, left[done_left], left_token);
      left_token += left[done_left++].rows;
    } else {
      lab.play(kS1, right[done_right], right_token);
      right_token += right[done_right++].rows;
    }
  }
  Visible const want = visible_after(setting.geometry, {{base, kBase}, {right, kRight}});
  must_equal(lab.visible(kS0),
             visible_after(setting.geometry, {{base, kBase}, {left, kLeft}}),
             "the first");
  must_equal(lab.visible(kS1), want, "the fork");
  must(lab.system().drop_snapshot(kH0));
  must(lab.system().release(kS0, model::HandleEnd::kCalled));
  must_equal(lab.visible(kS1), want, "the fork, left alone");
}

}  // namespace holdfast::test
