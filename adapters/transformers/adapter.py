#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Caches of Hugging Face transformers behind the engine protocol: reads lines, answers lines, judges nothing.

Usage: adapter.py [--device cpu] [--dtype float32] [--width 1] [FAMILY ...]

Each sequence of the protocol has a cache object of its own. Knobs say which class it has and by which of the
interface's means it is copied, emptied and cut. What the interface itself calls impossible (`is_croppable` is false,
`crop` raises) is declared as a legal refusal; that is asked of the engine at the start, family by family.
On a GPU calls of one token can be compiled or captured as CUDA graphs, too.
"""

import argparse
import contextlib
import copy
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from caches import CACHES, OFFLOADED, is_attention_alone, length_of
from calls import Model
from families import ENCODER_DECODERS, FAMILIES, VOCABULARY
from holdfast_target import Refused, Target, rows_at_end, serve

CONTEXT = 96
ALL = [*FAMILIES, *ENCODER_DECODERS]

# A knob's first value is the plainest.
KNOBS = {
    "cache": CACHES,
    # Position ids come from the cache, or are given with each call.
    "positions": ("given", "cache"),
    # One beam, or two of which the second has other tokens.
    "beams": (1, 2),
    "copy": ("deepcopy", "reorder", "select", "repeat"),
    # An emptied sequence gets a new cache object, or goes on with its own after `reset`.
    "empty": ("new", "reset"),
    # `activate_past_recording` when drafts come, as soon as the cache exists, or not at all.
    "recording": ("draft", "start", "never"),
    # `crop(0)` after each decode of a cache that records, or never.
    "trim": ("each", "never"),
    # Whether `is_croppable` is asked before `crop`.
    "croppable": ("asked", "ignored"),
}
GRAPHS = ("none", "captured", "compiled")


class Sequence:
    """A cache object, how many rows it was given, and how many of them it recorded since it was cut."""

    def __init__(self, cache, beams=1, beam=0):
        self.cache = cache
        self.beam = beam  # the one that has the own tokens of the sequence
        self.beams = beams
        self.rows = 0
        self.recording = False
        self.recorded = 0
        self.graph = None  # the captured call, which holds addresses of this cache

    def copied(self):
        other = copy.copy(self)
        # A stream is not copied, which only caches that are offloaded have; and their rows may be on the way still.
        stream = getattr(self.cache, "prefetch_stream", None)
        if stream is not None:
            torch.cuda.synchronize()
        other.cache, other.graph = copy.deepcopy(self.cache, {id(stream): stream} if stream else {}), None
        return other


class Adapter(Target):
    engine, version = "transformers", transformers.__version__
    vocabulary, sequences, context, batch = VOCABULARY, 4, CONTEXT, 48
    edges = {"window": 8, "chunk": 8, "convolution": 4}

    def __init__(self, families, device, dtype, width):
        self.device = device
        self.models = make_models(families, device, dtype, width)
        self.knobs = {"family": list(self.models), **KNOBS}
        if device == "cuda":
            self.knobs.update(cache=CACHES + OFFLOADED, graph=GRAPHS)
        self.crops = {}
        self.legal = ["decode when=full", "draft when=full"]
        for family in self.models:
            for kind in self.knobs["cache"]:
                self.declare(family, kind)
        self.reset({name: str(values[0]) for name, values in self.knobs.items()}, 0)

    # What the engine can.

    def declare(self, family, kind):
        """Legal refusals, by what the interface says of a cache that has rows and records."""
        try:
            sequence = Sequence(self.models[family].make_cache(kind, CONTEXT))
            sequence.cache.activate_past_recording()
            for token in (1, 2):
                self.forward(family, sequence, [token], "given")
        except Exception as error:
            print(f"{family} does not take {kind}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            self.crops[family, kind] = None
            return
        may = sequence.cache.is_croppable
        self.crops[family, kind] = can_crop(sequence.cache), may
        where = f"family={family} cache={kind}"
        self.legal.append(f"remove when=middle {where}")
        if is_attention_alone(sequence.cache) and may:
            return
        self.legal.append(f"remove when=partial {where}")
        self.legal.append(f"draft when=any {where} recording=never")
        self.legal.append(f"draft when=any {where} croppable=asked")

    def forward(self, family, sequence, tokens, positions, graph="none"):
        logits = self.models[family].call(sequence, tokens, positions, graph)
        sequence.rows += len(tokens)
        sequence.recorded += len(tokens) if sequence.recording else 0
        return logits

    # Lines of the protocol.

    def reset(self, knobs, seed):
        family, kind = knobs["family"], knobs["cache"]
        if self.crops[family, kind] is None:
            raise Refused("no_such_cache")
        can, may = self.crops[family, kind]
        if knobs["croppable"] == "ignored" and (may or not can):
            raise Refused("nothing_to_ignore")
        if knobs["recording"] == "start" and not can:
            raise Refused("no_crop")
        if knobs.get("graph", "none") != "none" and kind != "static":
            raise Refused("no_graph")
        self.family, self.chosen = family, knobs
        self.live = {}
        self.spare = {}  # reset caches of emptied sequences

    def positions(self):
        return {number: (0, length_of(sequence) - 1) for number, sequence in self.live.items() if length_of(sequence)}

    def cold(self, rows, first):
        if first != 0:
            raise Refused("no_shift")
        return wanted(rows, self.models[self.family].cold([row.token for row in rows]))

    def call(self, sequence, rows):
        tokens = [row.token for row in rows]
        return self.forward(self.family, sequence, tokens, self.chosen["positions"], self.chosen.get("graph", "none"))

    def check_room(self, rows):
        if len(rows) > self.batch or sum(s.rows for s in self.live.values()) + len(rows) > CONTEXT:
            raise Refused("full")

    def decode(self, rows):
        self.check_room(rows)
        found = []
        for number, part in runs(rows):
            sequence = self.started(number)
            found += wanted(part, self.call(sequence, part))
            if sequence.recording and self.chosen["trim"] == "each":
                self.crop(sequence, 0)
        return found

    def draft(self, rows, keep):
        self.check_room(rows)
        number = rows[0].sequence
        sequence = self.started(number)
        if self.chosen["croppable"] == "asked" and not sequence.cache.is_croppable:
            self.drop_unused(number)
            raise Refused("is_croppable_says_no")
        if self.chosen["recording"] == "never" and not is_attention_alone(sequence.cache):
            self.drop_unused(number)
            raise Refused("not_recording")
        if not sequence.recording and self.chosen["recording"] != "never":
            sequence.recording = True
            sequence.cache.activate_past_recording()
        logits = self.call(sequence, rows)
        self.crop(sequence, len(rows) - keep)
        return wanted(rows, logits)

    def remove(self, sequence, first, end):
        live = self.live.get(sequence)
        rows = live.rows if live else 0
        count = rows_at_end(first, end, rows)
        if 0 < count == rows:
            self.empty(sequence)
        elif count > 0:
            self.remove_tail(live, count)

    def remove_tail(self, sequence, count):
        if self.chosen["croppable"] == "asked" and not sequence.cache.is_croppable:
            raise Refused("is_croppable_says_no")
        is_recorded = is_attention_alone(sequence.cache) or sequence.recorded >= count
        if self.chosen["recording"] != "never" and not is_recorded:
            raise Refused("not_recorded")
        self.crop(sequence, count)

    def crop(self, sequence, count):
        sequence.cache.crop(-count)
        sequence.rows -= count
        sequence.recorded = 0

    def copy(self, sequence, to):
        if sequence == to:
            return
        source = self.live.get(sequence)
        if source is None:
            self.empty(to)
            return
        self.live[to] = self.copy_of(source)
        self.spare.pop(to, None)

    def copy_of(self, source):
        other, way = source.copied(), self.chosen["copy"]
        if way in ("reorder", "select"):
            turned = torch.arange(source.beams - 1, -1, -1, device=self.device)
            (other.cache.reorder_cache if way == "reorder" else other.cache.batch_select_indices)(turned)
            other.beam = source.beams - 1 - source.beam
        elif way == "repeat":
            other.cache.batch_select_indices(torch.tensor([source.beam], device=self.device))
            other.cache.batch_repeat_interleave(source.beams)
        return other

    def clear(self):
        for number in list(self.live):
            self.empty(number)

    def snapshot(self, sequence):
        source = self.live.get(sequence)
        return source and source.copied()

    def rollback(self, sequence, snapshot):
        self.empty(sequence)
        if snapshot is not None:
            self.live[sequence] = snapshot.copied()

    def fork(self, snapshot, sequence):
        self.rollback(sequence, snapshot)

    # Sequences.

    def started(self, number):
        """The sequence, which begins with a cache of the knobs' class when it has none."""
        if number not in self.live:
            sequence = self.spare.pop(number, None)
            if sequence is None:
                cache = self.models[self.family].make_cache(self.chosen["cache"], CONTEXT)
                sequence = Sequence(cache, int(self.chosen["beams"]))
                if self.chosen["recording"] == "start":
                    sequence.recording = True
                    sequence.cache.activate_past_recording()
            self.live[number] = sequence
        return self.live[number]

    def drop_unused(self, number):
        if self.live[number].rows == 0:
            self.spare[number] = self.live.pop(number)

    def empty(self, number):
        sequence = self.live.pop(number, None)
        if sequence is not None and self.chosen["empty"] == "reset":
            sequence.cache.reset()
            sequence.rows = sequence.recorded = 0
            self.spare[number] = sequence


def can_crop(cache):
    """Whether `crop` can be called at all."""
    try:
        cache.crop(-1)
        return True
    except (AttributeError, IndexError, RuntimeError, TypeError):
        return False


def make_models(families, device, dtype, width):
    """Of the families those that this version has, in this width."""
    made = {}
    for family in families:
        try:
            made[family] = Model(family, device, dtype, width)
        except Exception as error:
            print(f"no {family}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    if not made:
        sys.exit("this version of transformers has none of the families")
    return made


def runs(rows):
    """Rows of one sequence that follow each other, as one call each."""
    parts = []
    for row in rows:
        if not parts or parts[-1][0] != row.sequence:
            parts.append((row.sequence, []))
        parts[-1][1].append(row)
    return parts


def wanted(rows, logits):
    return logits[[i for i, row in enumerate(rows) if row.wants]].float().cpu().tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="default: " + " ".join(ALL))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    parser.add_argument("--width", type=int, default=1, help="so many times as wide; default: 1")
    arguments = parser.parse_args()
    unknown = [family for family in arguments.families if family not in ALL]
    if unknown:
        parser.error("no such family: " + " ".join(unknown))
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    transformers.logging.set_verbosity_error()
    with contextlib.redirect_stdout(sys.stderr):
        dtype = getattr(torch, arguments.dtype)
        adapter = Adapter(arguments.families or ALL, arguments.device, dtype, arguments.width)
    serve(adapter)


if __name__ == "__main__":
    main()
