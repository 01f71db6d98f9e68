#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The protocol module for Python, and the small engine that shows how it is used. Needs no package."""

import os
import struct
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "adapters", "python")
sys.path.insert(0, FOLDER)

import holdfast_target  # noqa: E402
from example import Adapter  # noqa: E402
from holdfast_target import WEAK, Refused, Server, Target, damaged  # noqa: E402


def logits_of(lines):
    return [struct.unpack(">16f", bytes.fromhex("".join(line.split()[1:]))) for line in lines if line.startswith("bits")]


class Lines(unittest.TestCase):
    def setUp(self):
        self.server = Server(Adapter(""))

    def ask(self, line):
        return self.server.answer(line)

    def test_declares_what_the_class_overrides_and_nothing_else(self):
        lines = self.ask("hello protocol=1")
        names = [line.split()[1] for line in lines if line.startswith("operation")]
        self.assertEqual(names, ["decode", "remove", "copy", "clear"])
        self.assertEqual(lines[-1], "ok protocol=1")
        self.assertEqual(self.ask("shift sequence=s0 by=2"), ["error not declared: shift"])

    def test_an_older_protocol_is_refused(self):
        self.assertEqual(self.ask("hello protocol=0"), ["refused reason=version"])

    def test_logits_come_for_wanted_rows_in_order(self):
        both = self.ask("decode items=s0:1.2!,s1:3!")
        self.assertEqual([line.split()[0] for line in both], ["bits", "bits", "ok"])
        self.assertEqual(both[:1], self.ask("cold tokens=1.2!")[:1])
        self.assertEqual(both[1:2], self.ask("cold tokens=3!")[:1])
        self.assertEqual(self.ask("decode items=s0:4"), ["ok"])

    def test_positions_are_those_of_the_engine(self):
        self.assertEqual(self.ask("positions"), ["ok"])
        self.ask("decode items=s2:1.2.3,s0:5")
        self.assertEqual(self.ask("positions"), ["ok s0=0..0 s2=0..2"])

    def test_a_refusal_carries_its_reason(self):
        self.ask("decode items=s0:1.2.3")
        self.assertEqual(self.ask("remove sequence=s0 first=2"), ["refused reason=partial"])
        self.assertEqual(self.ask("remove sequence=s0 first=0 end=3"), ["ok"])

    def test_what_is_not_understood_is_an_error(self):
        for line in ("jump", "decode", "decode items=x0:1", "decode items=s0", "remove sequence=0", "reset speed=1"):
            self.assertTrue(self.ask(line)[-1].startswith("error "), line)

    def test_a_seeded_bug_shows_and_without_it_nothing_does(self):
        program = ["decode items=s0:1.2.3.4.5", "copy sequence=s0 to=s1", "decode items=s1:6", "decode items=s0:7!"]
        for bug in ("", "shared", "state"):
            server = Server(Adapter(bug))
            warm = logits_of([server.answer(line) for line in program][-1])
            self.assertEqual(warm, logits_of(server.answer("cold tokens=1.2.3.4.5.7!")), bug)
            warm = logits_of(server.answer("decode items=s1:8!"))
            self.assertEqual(warm == logits_of(server.answer("cold tokens=1.2.3.4.5.6.8!")), bug == "", bug)


class Entries(unittest.TestCase):
    def test_bits_and_ends_are_damaged(self):
        self.assertEqual(damaged(b"\x00\x00", flip=17, cut=None), b"\x02\x00")
        self.assertEqual(damaged(b"abc", flip=None, cut=2), b"a")
        self.assertEqual(damaged(b"abc", flip=None, cut=4), b"abc")
        self.assertEqual(damaged(b"", flip=5, cut=None), b"")
        self.assertEqual(damaged(b"\x00", flip=None, cut=None), b"\x01")

    def test_entries_and_snapshots_are_kept_by_name(self):
        class Tape(Target):
            def save(self, sequence):
                return b"rows", 4

            def load(self, data, sequence):
                return len(data) if data == b"rows" else WEAK

            def snapshot(self, sequence):
                return sequence

            def rollback(self, sequence, snapshot):
                if sequence != snapshot:
                    raise Refused("other")

            def reset(self, knobs, seed):
                pass

        server = Server(Tape())
        for line, answer in (
            ("load entry=e0 sequence=s1", "refused reason=no_such_entry"),
            ("save sequence=s1 entry=e0", "ok bytes=4 promised=4"),
            ("load entry=e0 sequence=s1", "ok bytes=4"),
            ("damage entry=e0 flip=3", "ok"),
            ("load entry=e0 sequence=s1", "weak"),
            ("snapshot sequence=s1 snapshot=h2", "ok"),
            ("rollback sequence=s1 snapshot=h2", "ok"),
            ("rollback sequence=s0 snapshot=h2", "refused reason=other"),
            ("drop_snapshot snapshot=h2", "ok"),
            ("rollback sequence=s1 snapshot=h2", "refused reason=no_such_snapshot"),
            ("reset seed=1", "ok"),
            ("load entry=e0 sequence=s1", "refused reason=no_such_entry"),
        ):
            self.assertEqual(server.answer(line), [answer], line)

    def test_an_exception_of_the_engine_is_a_refusal(self):
        class Broken(Target):
            def clear(self):
                print("a log of the engine", file=sys.stderr)
                raise IndexError("no such page")

        with open(os.devnull, "w", encoding="ascii") as nowhere:
            kept, sys.stderr = sys.stderr, nowhere
            try:
                self.assertEqual(Server(Broken()).answer("clear"), ["refused reason=IndexError"])
            finally:
                sys.stderr = kept


class Process(unittest.TestCase):
    def test_answers_in_order_and_ends_with_its_input(self):
        command = [sys.executable, os.path.join(FOLDER, "example.py")]
        asked = "hello protocol=1\nreset seed=1\ndecode items=s0:1.2!\npositions\njump\n"
        answers = subprocess.run(command, input=asked, capture_output=True, text=True, check=True, timeout=60).stdout
        closing = [line for line in answers.splitlines() if line.split()[0] in ("ok", "error", "refused")]
        self.assertEqual(closing, ["ok protocol=1", "ok", "ok", "ok s0=0..1", "error no such line: jump"])

    def test_what_is_printed_does_not_stand_among_the_answers(self):
        code = (
            "import holdfast_target as h\n"
            "class Loud(h.Target):\n"
            "    def clear(self): print('a message')\n"
            "h.serve(Loud())\n"
        )
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, input="clear\n", cwd=FOLDER, capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("ok\n", "a message\n"))


if __name__ == "__main__":
    assert holdfast_target.PROTOCOL == 1
    unittest.main()
