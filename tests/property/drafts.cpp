// SPDX-License-Identifier: Apache-2.0
// Laws of rounds and dropped handles: what was not kept never happened.
#include "tests/property/laws.hpp"

namespace holdfast::test {

void accept_any_prefix(Setting const& setting) {
  Moves const base = *any_moves(setting.kind);
  Move draft = *any_round(setting.kind);
  Moves const after = *any_moves(setting.kind);
  for (draft.keep = 0; draft.keep <= draft.rows; ++draft.keep) {
    Lab drafted{setting.geometry.layout};
    must(drafted.system().create(kS0));
    drafted.play(kS0, base, kBase);
    drafted.play(kS0, draft, kLeft);
    Lab plain{setting.geometry.layout};
    must(plain.system().create(kS0));
    plain.play(kS0, base, kBase);
    plain.play_serially(kS0, committed({draft}, kLeft));
    must_equal(drafted.visible(kS0), plain.visible(kS0), "after the accept");
    drafted.play(kS0, after, kRight);
    plain.play(kS0, after, kRight);
    must_equal(drafted.visible(kS0), plain.visible(kS0), "after going on");
  }
}

void dropped_handle_was_never_open(Setting const& setting) {
  Moves const base = *any_moves(setting.kind);
  bool const round = *rc::gen::arbitrary<bool>();
  auto const rows = *rc::gen::inRange<std::uint32_t>(1, round ? 9 : 30);
  auto const written = *rc::gen::inRange<std::uint32_t>(0, rows + 1);
  bool const view = *rc::gen::arbitrary<bool>();
  Moves const after = *any_moves(setting.kind);
  Lab lab{setting.geometry.layout};
  must(lab.system().create(kS0));
  lab.play(kS0, base, kBase);
  Visible const before = lab.visible(kS0);
  StateMode const mode = round ? setting.kind : StateMode::kFresh;
  must(lab.system().begin(kS0, round, rows, written, kLeft, {.view = view, .mode = mode}));
  must(lab.system().drop(kS0, model::HandleEnd::kCalled));
  must_equal(lab.visible(kS0), before, "after the drop");
  lab.play(kS0, after, kRight);
  must_equal(lab.visible(kS0),
             visible_after(setting.geometry, {{base, kBase}, {after, kRight}}),
             "after going on");
}

void last_writing_counts(Setting const& setting) {
  Moves const base = *any_moves(setting.kind);
  auto const rows = *rc::gen::inRange<std::uint32_t>(1, 9);
  auto const written = *rc::gen::inRange<std::uint32_t>(0, rows + 1);
  auto const times = *rc::gen::inRange<std::uint32_t>(0, 4);
  auto const keep = *rc::gen::inRange<std::uint32_t>(0, rows + 1);
  Lab lab{setting.geometry.layout};
  must(lab.system().create(kS0));
  lab.play(kS0, base, kBase);
  model::WriteStyle style{.piece = *any_piece(), .mode = setting.kind};
  must(lab.system().begin(kS0, true, rows, written, kLeft, style));
  std::vector<Token> tokens;
  auto const write = [&](std::uint32_t first, std::uint32_t count, Token token) {
    style.again = true;
    style.piece = *any_piece();
    style.view = *rc::gen::arbitrary<bool>();
    must(lab.system().rewrite(kS0, first, count, token, style));
    tokens.resize(std::max<std::size_t>(tokens.size(), first + count));
    for (std::uint32_t i = 0; i < count; ++i) {
      tokens[first + i] = token + i;
    }
  };
  for (std::uint32_t i = 0; i < written; ++i) {
    tokens.push_back(kLeft + i);
  }
  Token token = kRight;
  for (std::uint32_t time = 0; time < times; ++time, token += rows) {
    auto const have = static_cast<std::uint32_t>(tokens.size());
    auto const first = *rc::gen::inRange<std::uint32_t>(0, std::min(have, rows - 1) + 1);
    write(first, *rc::gen::inRange<std::uint32_t>(1, rows - first + 1), token);
  }
  if (auto const have = static_cast<std::uint32_t>(tokens.size()); have < rows) {
    write(have, rows - have, token);
  }
  must(lab.system().accept(kS0, keep));
  Lab plain{setting.geometry.layout};
  must(plain.system().create(kS0));
  plain.play(kS0, base, kBase);
  tokens.resize(keep);
  plain.play_serially(kS0, tokens);
  must_equal(lab.visible(kS0), plain.visible(kS0), "after the accept");
}

}  // namespace holdfast::test
