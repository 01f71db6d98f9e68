# SPDX-License-Identifier: Apache-2.0
"""The engine protocol of docs/PROTOCOL.md for engines that are reached from Python.

An adapter is one class: a method for each operation that the engine has, named as in the protocol, and a few
attributes that say what the engine is. `serve(Adapter())` reads lines, calls the methods and writes the answers.
What is not overridden is not declared, and never asked. Only the standard library is needed; Python 3.9 or later.

    class Mine(Target):
        engine, version = "mine", "0.1"
        vocabulary, sequences, context, batch = 64, 4, 256, 64

        def reset(self, knobs, seed): ...
        def positions(self): return {0: (0, 4)}
        def cold(self, rows, first): ...       # logits of the rows that want them
        def decode(self, rows): ...            # the same
        def remove(self, sequence, first, end): ...

    serve(Mine())

A method that raises `Refused("reason")` answers `refused`; one that raises anything else does so too, with the
name of the exception as the reason and its traceback on standard error. One that returns `WEAK` answers `weak`.
"""

import os
import re
import struct
import sys
import traceback
from collections import namedtuple

PROTOCOL = 1
WEAK = object()

# One row of a batch: the sequence, the token, and whether logits after it are wanted.
Row = namedtuple("Row", "sequence token wants")


class Refused(Exception):
    """The engine said no, and nothing has changed. Its text is one word."""


class Misread(Exception):
    """The line is not one of the protocol."""


def rows_at_end(first, end, rows):
    """How many rows a removal from `first` up to `end` takes from the end of a sequence of `rows` rows. For an
    engine that can remove nothing else: raises `Refused("only_tails")` for a removal in front of rows that stay."""
    first, end = first or 0, rows if end is None else min(end, rows)
    if first < end != rows:
        raise Refused("only_tails")
    return max(0, end - first)


class Target:
    """What an adapter overrides. Sequences are numbers from 0; `first` and `end` are positions, or None."""

    engine, version = "unnamed", "0"
    vocabulary, sequences, context, batch = 64, 4, 256, 64
    knobs = {}  # name: values, the first of which is used when nothing is said
    edges = {}  # name: length at which something happens, or the name of a knob
    legal = ()  # "remove when=deeper:depth", as in the protocol
    weak = ()  # the same for operations that may answer weak

    def reset(self, knobs, seed):
        """Makes everything new with these knobs, a dict of words."""
        raise NotImplementedError

    def positions(self):
        """The least and the greatest position of each sequence that is not empty, by number."""
        raise NotImplementedError

    def cold(self, rows, first):
        """Logits of the rows that want them, in a context of their own; the first row is at position `first`."""
        raise NotImplementedError

    def decode(self, rows):
        """One batch. Returns logits, a sequence of numbers, for each row that wants them."""

    def draft(self, rows, keep):
        """Decodes the rows of one sequence, and takes back all but the first `keep`. Returns logits."""

    def remove(self, sequence, first, end):
        """Removes the rows at positions from `first` up to `end`; None is no bound."""

    def remove_every(self, first, end):
        """The same for all sequences, by one call of the engine."""

    def copy(self, sequence, to):
        """`to` has what `sequence` has."""

    def keep(self, sequence):
        """All other sequences are emptied."""

    def shift(self, sequence, by, first, end):
        """Positions of those rows change by that much."""

    def clear(self):
        """All sequences are emptied."""

    def save(self, sequence):
        """Returns the engine's bytes of the sequence, and the size that it had promised."""

    def load(self, data, sequence):
        """The sequence has what these bytes have. Returns how many bytes were read."""

    def save_all(self):
        """As `save`, for all sequences."""

    def load_all(self, data):
        """As `load`, for all sequences."""

    def save_part(self, sequence):
        """As `save`, for what cannot be rolled back."""

    def load_part(self, data, sequence):
        """Takes the sequence back to where the part was saved. Returns how many bytes were read."""

    def snapshot(self, sequence):
        """Returns something that remembers the sequence."""

    def rollback(self, sequence, snapshot):
        """Takes the sequence back to what `snapshot` returned."""

    def fork(self, snapshot, sequence):
        """The sequence, which is empty, begins as the snapshot is."""


OPERATIONS = (
    "decode draft remove remove_every copy keep shift clear save load save_all load_all save_part load_part "
    "snapshot rollback fork"
).split()


def damaged(data, flip, cut):
    """The bytes with one bit turned over, or with some taken from the end."""
    if cut is not None:
        return data[: len(data) - cut % (len(data) + 1)]
    if not data:
        return data
    at = (flip or 0) % (8 * len(data))
    changed = bytearray(data)
    changed[at // 8] ^= 1 << (at % 8)
    return bytes(changed)


def parse_tokens(text, sequence):
    rows = []
    for word in text.split("."):
        wants = word.endswith("!")
        rows.append(Row(sequence, int(word[:-1] if wants else word), wants))
    return rows


def parse_items(text):
    rows = []
    for item in text.split(","):
        name, tokens = item.split(":")
        rows += parse_tokens(tokens, parse_name(name, "s"))
    return rows


def parse_name(text, kind):
    if not re.fullmatch(kind + "[0-9]+", text):
        raise Misread(f"not a name of kind {kind}: {text}")
    return int(text[1:])


def bits(logits):
    """One data line: each number as the hexadecimal digits of its IEEE single."""
    values = [float(x) for x in logits]
    return "bits " + struct.pack(f">{len(values)}f", *values).hex(" ", 4)


class Server:
    """Lines of one adapter: `answer` takes one, and returns the lines that answer it."""

    def __init__(self, target):
        self.target = target
        self.entries = {}
        self.snapshots = {}

    def answer(self, line):
        words = line.split(" ")
        try:
            fields = dict(word.split("=", 1) for word in words[1:])
            method = getattr(self, "do_" + words[0], None)
            if method is None:
                raise Misread("no such line: " + words[0])
            if words[0] in OPERATIONS and not self.has(words[0]):
                raise Misread("not declared: " + words[0])
            return method(fields)
        except Misread as error:
            return ["error " + " ".join(str(error).split())]
        except Refused as error:
            return ["refused reason=" + str(error)]
        except (KeyError, ValueError) as error:
            if is_ours(error):
                return ["error " + " ".join(f"{line[:100]}: {error!r}".split())]
            return refusal_of(error)
        except Exception as error:
            return refusal_of(error)

    def has(self, operation):
        """Declared is what the adapter's class overrides."""
        return getattr(type(self.target), operation) is not getattr(Target, operation)

    def do_hello(self, fields):
        target = self.target
        if int(fields["protocol"]) < PROTOCOL:
            raise Refused("version")
        lines = [
            f"engine name={target.engine} version={target.version}",
            f"limits vocabulary={target.vocabulary} sequences={target.sequences} "
            f"context={target.context} batch={target.batch}",
        ]
        lines += ["operation " + name for name in OPERATIONS if self.has(name)]
        if self.has("save") or self.has("save_all") or self.has("save_part"):
            lines.append("operation damage")
        if self.has("snapshot"):
            lines.append("operation drop_snapshot")
        lines += [f"knob {name}={','.join(map(str, values))}" for name, values in target.knobs.items()]
        lines += [f"edge {name}={number}" for name, number in target.edges.items()]
        lines += ["legal " + text for text in target.legal]
        lines += ["weak " + text for text in target.weak]
        return [*lines, f"ok protocol={PROTOCOL}"]

    def do_reset(self, fields):
        seed = int(fields.pop("seed", "0"))
        knobs = {name: str(values[0]) for name, values in self.target.knobs.items()}
        for name, value in fields.items():
            if name not in knobs or value not in map(str, self.target.knobs[name]):
                raise Misread(f"no such knob or value: {name}={value}")
            knobs[name] = value
        self.entries.clear()
        self.snapshots.clear()
        self.target.reset(knobs, seed)
        return ["ok"]

    def do_positions(self, fields):
        extents = sorted(self.target.positions().items())
        return [" ".join(["ok", *(f"s{s}={least}..{greatest}" for s, (least, greatest) in extents)])]

    def do_cold(self, fields):
        rows = parse_tokens(fields["tokens"], 0)
        return self.logits(rows, self.target.cold(rows, int(fields.get("first", "0"))))

    def do_decode(self, fields):
        rows = parse_items(fields["items"])
        return self.logits(rows, self.target.decode(rows))

    def do_draft(self, fields):
        rows = parse_tokens(fields["tokens"], parse_name(fields["sequence"], "s"))
        return self.logits(rows, self.target.draft(rows, int(fields["keep"])))

    def logits(self, rows, found):
        if found is WEAK:
            return ["weak"]
        wanted = sum(row.wants for row in rows)
        found = list(found)
        if len(found) != wanted:
            raise Misread(f"the adapter returned {len(found)} logits for {wanted} rows")
        return [*map(bits, found), "ok"]

    def do_remove(self, fields):
        return done(self.target.remove(sequence_of(fields), number(fields, "first"), number(fields, "end")))

    def do_remove_every(self, fields):
        return done(self.target.remove_every(number(fields, "first"), number(fields, "end")))

    def do_copy(self, fields):
        return done(self.target.copy(sequence_of(fields), parse_name(fields["to"], "s")))

    def do_keep(self, fields):
        return done(self.target.keep(sequence_of(fields)))

    def do_shift(self, fields):
        first, end = number(fields, "first"), number(fields, "end")
        return done(self.target.shift(sequence_of(fields), int(fields["by"]), first, end))

    def do_clear(self, fields):
        return done(self.target.clear())

    def do_save(self, fields):
        return self.keep_entry(fields, *self.target.save(sequence_of(fields)))

    def do_save_all(self, fields):
        return self.keep_entry(fields, *self.target.save_all())

    def do_save_part(self, fields):
        return self.keep_entry(fields, *self.target.save_part(sequence_of(fields)))

    def keep_entry(self, fields, data, promised):
        self.entries[fields["entry"]] = data
        return [f"ok bytes={len(data)} promised={promised}"]

    def do_load(self, fields):
        return read(self.target.load(self.entry_of(fields), sequence_of(fields)))

    def do_load_all(self, fields):
        return read(self.target.load_all(self.entry_of(fields)))

    def do_load_part(self, fields):
        return read(self.target.load_part(self.entry_of(fields), sequence_of(fields)))

    def entry_of(self, fields):
        if fields["entry"] not in self.entries:
            raise Refused("no_such_entry")
        return self.entries[fields["entry"]]

    def do_damage(self, fields):
        data = self.entry_of(fields)
        self.entries[fields["entry"]] = damaged(data, number(fields, "flip"), number(fields, "cut"))
        return ["ok"]

    def do_snapshot(self, fields):
        self.snapshots[fields["snapshot"]] = self.target.snapshot(sequence_of(fields))
        return ["ok"]

    def do_rollback(self, fields):
        return done(self.target.rollback(sequence_of(fields), self.snapshot_of(fields)))

    def do_fork(self, fields):
        return done(self.target.fork(self.snapshot_of(fields), sequence_of(fields)))

    def do_drop_snapshot(self, fields):
        self.snapshots.pop(fields["snapshot"], None)
        return ["ok"]

    def snapshot_of(self, fields):
        if fields["snapshot"] not in self.snapshots:
            raise Refused("no_such_snapshot")
        return self.snapshots[fields["snapshot"]]


def sequence_of(fields):
    return parse_name(fields["sequence"], "s")


def number(fields, name):
    return int(fields[name]) if name in fields else None


def done(result):
    return ["weak"] if result is WEAK else ["ok"]


def read(result):
    return ["weak"] if result is WEAK else [f"ok bytes={result}"]


def is_ours(error):
    """Raised by this module, which reads lines: not by what the adapter called."""
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1].filename == __file__


def refusal_of(error):
    """An engine in Python says no by an exception."""
    traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)
    return ["refused reason=" + type(error).__name__]


def serve(target):
    """Answers lines until standard input ends. What the engine prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii", buffering=1 << 20)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    server = Server(target)
    source = os.fdopen(os.dup(0), "rb", buffering=0)
    rest = b""
    while True:
        answers.flush()
        chunk = source.read(1 << 20)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            for answer in server.answer(line.decode("ascii", "replace")):
                answers.write(answer + "\n")
