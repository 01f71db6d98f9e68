#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Caches of Hugging Face transformers behind the engine protocol: reads lines, answers lines, judges nothing.

Usage: adapter.py [--device cpu] [--dtype float32] [FAMILY ...]

Each sequence of the protocol has a cache object of its own. Knobs say which class it has and by which of the
interface's means it is copied, emptied and cut. What the interface itself calls impossible (`is_croppable` is false,
`crop` raises) is declared as a legal refusal; that is asked of the engine at the start, family by family.
"""

import argparse
import contextlib
import copy
import inspect
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from families import FAMILIES, VOCABULARY, make_model
from holdfast_target import Refused, Target, serve
from transformers import DynamicCache, StaticCache

CONTEXT = 96

# A knob's first value is the plainest.
KNOBS = {
    "cache": ("dynamic", "static"),
    # Position ids come from the cache, or are given with each call.
    "positions": ("given", "cache"),
    # One beam, or two of which the second has other tokens.
    "beams": (1, 2),
    "copy": ("deepcopy", "reorder", "select"),
    # An emptied sequence gets a new cache object, or goes on with its own after `reset`.
    "empty": ("new", "reset"),
    # `activate_past_recording` when drafts come, as soon as the cache exists, or not at all.
    "recording": ("draft", "start", "never"),
    # `crop(0)` after each decode of a cache that records, or never.
    "trim": ("each", "never"),
    # Whether `is_croppable` is asked before `crop`.
    "croppable": ("asked", "ignored"),
}


class Sequence:
    """A cache object, how many rows it was given, and how many of them it recorded since it was cut."""

    def __init__(self, cache, beams=1, beam=0):
        self.cache = cache
        self.beam = beam  # the one that has the own tokens of the sequence
        self.beams = beams
        self.rows = 0
        self.recording = False
        self.recorded = 0

    def copied(self, cache, beam):
        other = copy.copy(self)
        other.cache, other.beam = cache, beam
        return other


class Adapter(Target):
    engine, version = "transformers", transformers.__version__
    vocabulary, sequences, context, batch = VOCABULARY, 4, CONTEXT, 48
    edges = {"window": 8, "chunk": 8, "convolution": 4}

    def __init__(self, families, device, dtype):
        self.device, self.dtype = device, dtype
        self.knobs = {"family": families, **KNOBS}
        self.models = {}
        self.crops = {}
        self.legal = ["decode when=full"]
        for family in families:
            self.declare(family)
        self.reset({name: str(values[0]) for name, values in self.knobs.items()}, 0)

    # What the engine can.

    def declare(self, family):
        """Legal refusals, by what the interface says of a cache that has a row."""
        for kind in KNOBS["cache"]:
            where = f"family={family} cache={kind}"
            sequence = Sequence(self.make_cache(family, kind))
            self.forward(family, sequence, [1], "given")
            self.legal.append(f"remove when=middle {where}")
            if is_attention_alone(sequence.cache) and sequence.cache.is_croppable:
                continue
            self.legal.append(f"remove when=partial {where}")
            self.legal.append(f"draft when=any {where} recording=never")
            if sequence.cache.is_croppable:
                self.legal.append(f"draft when=empty {where} croppable=asked")
            else:
                self.legal.append(f"draft when=any {where} croppable=asked")

    def has_crop(self, family, kind):
        """Whether `crop` can be called at all, and whether `is_croppable` says that it may."""
        if (family, kind) not in self.crops:
            sequence = Sequence(self.make_cache(family, kind))
            sequence.cache.activate_past_recording()
            self.forward(family, sequence, [1, 2, 3], "given")
            may = sequence.cache.is_croppable
            try:
                sequence.cache.crop(-1)
                self.crops[family, kind] = True, may
            except (AttributeError, RuntimeError):
                self.crops[family, kind] = False, may
        return self.crops[family, kind]

    def model(self, family):
        if family not in self.models:
            self.models[family] = make_model(family, self.device, self.dtype)
        return self.models[family]

    def make_cache(self, family, kind):
        config = self.model(family).config
        return StaticCache(config=config, max_cache_len=CONTEXT) if kind == "static" else DynamicCache(config=config)

    @torch.no_grad()
    def forward(self, family, sequence, tokens, positions):
        """One call of the model for all beams. Returns logits of the sequence's own beam, one for each row."""
        model = self.model(family)
        beams = sequence.beams
        ids = torch.tensor([[(t + 1) % VOCABULARY for t in tokens]] * beams, device=self.device)
        ids[sequence.beam] = torch.tensor(tokens, device=self.device)
        fields = {cache_argument(model): sequence.cache, "use_cache": True}
        if positions == "given" and "position_ids" in inspect.signature(model.forward).parameters:
            first = sequence.rows
            fields["position_ids"] = torch.arange(first, first + len(tokens), device=self.device).expand(beams, -1)
        logits = model(ids, **fields).logits[sequence.beam]
        sequence.rows += len(tokens)
        sequence.recorded += len(tokens) if sequence.recording else 0
        return logits

    # Lines of the protocol.

    def reset(self, knobs, seed):
        family, kind = knobs["family"], knobs["cache"]
        can, may = self.has_crop(family, kind)
        if knobs["croppable"] == "ignored" and (may or not can):
            raise Refused("nothing_to_ignore")
        if knobs["recording"] == "start" and not can:
            raise Refused("no_crop")
        self.family, self.chosen = family, knobs
        self.live = {}
        self.spare = {}  # reset caches of emptied sequences

    def positions(self):
        return {number: (0, length_of(sequence) - 1) for number, sequence in self.live.items() if length_of(sequence)}

    @torch.no_grad()
    def cold(self, rows, first):
        if first != 0:
            raise Refused("no_shift")
        ids = torch.tensor([[row.token for row in rows]], device=self.device)
        logits = self.model(self.family)(ids, use_cache=False).logits[0]
        return wanted(rows, logits)

    def decode(self, rows):
        if len(rows) > self.batch or sum(s.rows for s in self.live.values()) + len(rows) > CONTEXT:
            raise Refused("full")
        found = []
        for number, part in runs(rows):
            sequence = self.started(number)
            logits = self.forward(self.family, sequence, [row.token for row in part], self.chosen["positions"])
            found += wanted(part, logits)
            if sequence.recording and self.chosen["trim"] == "each":
                self.crop(sequence, 0)
        return found

    def draft(self, rows, keep):
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
        logits = self.forward(self.family, sequence, [row.token for row in rows], self.chosen["positions"])
        self.crop(sequence, len(rows) - keep)
        return wanted(rows, logits)

    def remove(self, sequence, first, end):
        number, first = sequence, first or 0
        sequence = self.live.get(number)
        rows = sequence.rows if sequence else 0
        end = rows if end is None else min(end, rows)
        if first >= end:
            return
        if first == 0 and end == rows:
            self.empty(number)
        elif end != rows:
            raise Refused("only_tails")
        else:
            self.remove_tail(sequence, rows - first)

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
        cache, beam = copy.deepcopy(source.cache), source.beam
        beams = source.beams
        if self.chosen["copy"] == "reorder":
            cache.reorder_cache(torch.arange(beams - 1, -1, -1, device=self.device))
            beam = beams - 1 - beam
        elif self.chosen["copy"] == "select":
            cache.batch_select_indices(torch.tensor([beam], device=self.device))
            cache.batch_repeat_interleave(beams)
        return source.copied(cache, beam)

    def clear(self):
        for number in list(self.live):
            self.empty(number)

    def snapshot(self, sequence):
        return copy.deepcopy(self.live.get(sequence))

    def rollback(self, sequence, snapshot):
        self.empty(sequence)
        if snapshot is not None:
            self.live[sequence] = copy.deepcopy(snapshot)

    def fork(self, snapshot, sequence):
        self.rollback(sequence, snapshot)

    # Sequences.

    def started(self, number):
        """The sequence, which begins with a cache of the knobs' class when it has none."""
        if number not in self.live:
            sequence = self.spare.pop(number, None)
            if sequence is None:
                cache = self.make_cache(self.family, self.chosen["cache"])
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


def is_attention_alone(cache):
    """Whether all layers keep all rows: nothing must be recorded before a crop."""
    return not any(cache.is_sliding) and not any(hasattr(layer, "recurrent_states") for layer in cache.layers)


def length_of(sequence):
    """As the engine says; a cache without attention does not count its rows."""
    try:
        return int(sequence.cache.get_seq_length())
    except ValueError:
        return sequence.rows


def cache_argument(model):
    """The name of the argument changed from one version to another."""
    names = inspect.signature(model.forward).parameters
    return next(name for name in ("cache", "past_key_values", "cache_params") if name in names)


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
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="default: " + " ".join(FAMILIES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    arguments = parser.parse_args()
    unknown = [family for family in arguments.families if family not in FAMILIES]
    if unknown:
        parser.error("no such family: " + " ".join(unknown))
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    transformers.logging.set_verbosity_error()
    with contextlib.redirect_stdout(sys.stderr):
        adapter = Adapter(arguments.families or list(FAMILIES), arguments.device, getattr(torch, arguments.dtype))
    serve(adapter)


if __name__ == "__main__":
    main()
