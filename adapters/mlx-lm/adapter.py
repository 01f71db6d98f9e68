#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prompt caches of mlx-lm behind the engine protocol: reads lines, answers lines, judges nothing.

Usage: adapter.py [FAMILY ...]

Each sequence of the protocol has a prompt cache of its own, a list with one cache for each layer. Tails are removed by
`trim_prompt_cache` where `can_trim_prompt_cache` says yes; entries are the files of `save_prompt_cache`. With the knob
`batching` the sequences of one decode are merged, called together and extracted, as `BatchGenerator` does.
"""

import argparse
import contextlib
import copy
import os
import sys
import tempfile
from importlib.metadata import version

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
# On a CPU fused kernels would be compiled by the system's C++ compiler while lines are answered.
os.environ.setdefault("MLX_DISABLE_COMPILE", "1")

import mlx.core as mx
from families import FAMILIES, VOCABULARY, WINDOW, make_model
from holdfast_target import Refused, Target, rows_at_end, serve
from mlx_lm.models import cache as caches

CONTEXT = 96

# A knob's first value is the plainest.
KNOBS = {
    # Rows of attention as they are, quantized from the first row on, or grown by concatenation.
    "rows": ("plain", "quantized", "concatenated"),
    # Sequences of a decode are called one by one, or merged into one batch.
    "batching": ("alone", "merged"),
    # A copy is a deepcopy, a file that is written and read, or one half of a batch of two.
    "copy": ("deepcopy", "file", "extract"),
}


class Sequence:
    """A prompt cache, and how many rows it was given."""

    def __init__(self, cache):
        self.cache, self.rows = cache, 0


class Adapter(Target):
    engine, version = "mlx-lm", version("mlx-lm")
    vocabulary, sequences, context, batch = VOCABULARY, 4, CONTEXT, 48
    edges = {"window": WINDOW, "convolution": 4}

    def __init__(self, families):
        self.knobs = {"family": families, **KNOBS}
        self.models = {family: make_model(family) for family in families}
        self.quantized = {family: self.takes(family, "quantized") for family in families}
        self.legal = ["decode when=full", "draft when=full", "load when=damaged"]
        for family in families:
            self.declare(family)
        self.reset({name: str(values[0]) for name, values in self.knobs.items()}, 0)

    def declare(self, family):
        """Legal refusals, by what the interface says of a cache that has a row, and of one past the window."""
        self.legal.append(f"remove when=middle family={family}")
        cache = self.make_cache(family, "plain")
        self.call(family, cache, [[1]])
        if not caches.can_trim_prompt_cache(cache):
            self.legal += [f"remove when=partial family={family}", f"draft when=any family={family}"]
            return
        self.call(family, cache, [[2] * WINDOW])
        if not caches.can_trim_prompt_cache(cache):
            self.legal.append(f"remove when=window:{WINDOW - 1} family={family}")
            self.legal.append(f"draft when=longer:{WINDOW - 1} family={family}")

    def takes(self, family, rows):
        """Whether the model can be called with rows of that kind: attention sinks, for one, do not go with them."""
        try:
            self.call(family, self.make_cache(family, rows), [[1]])
            return True
        except ValueError as error:
            print(f"{family} does not take {rows} rows: {error}", file=sys.stderr)
            return False

    def make_cache(self, family, rows):
        made = caches.make_prompt_cache(self.models[family])
        return [with_rows(layer, rows) for layer in made]

    def call(self, family, cache, tokens):
        """One call for some sequences with as many tokens each. Returns logits: sequences x tokens x vocabulary."""
        logits = self.models[family](mx.array(tokens), cache=cache).astype(mx.float32)
        mx.eval(logits, [layer.state for layer in cache if not layer.empty()])
        return logits

    # Lines of the protocol.

    def reset(self, knobs, seed):
        self.family, self.chosen = knobs["family"], knobs
        made = self.make_cache(self.family, knobs["rows"])
        if knobs["rows"] != "plain" and kinds_of(made) == kinds_of(self.make_cache(self.family, "plain")):
            raise Refused("no_plain_rows")
        if knobs["rows"] == "quantized" and not self.quantized[self.family]:
            raise Refused("not_quantized")
        is_merged = knobs["batching"] == "merged" or knobs["copy"] == "extract"
        if is_merged and not all(hasattr(layer, "merge") for layer in flat(made)):
            raise Refused("no_merge")
        self.live = {}

    def positions(self):
        return {number: (0, length_of(sequence) - 1) for number, sequence in self.live.items() if length_of(sequence)}

    def cold(self, rows, first):
        if first != 0:
            raise Refused("no_shift")
        cache = self.make_cache(self.family, self.chosen["rows"])
        return wanted(rows, self.call(self.family, cache, [[row.token for row in rows]])[0])

    def check_room(self, rows):
        if len(rows) > self.batch or sum(s.rows for s in self.live.values()) + len(rows) > CONTEXT:
            raise Refused("full")

    def decode(self, rows):
        self.check_room(rows)
        found = {}
        for part in parts_of(rows, self.chosen["batching"] == "merged"):
            found.update(self.decode_together(rows, part))
        return [found[i] for i, row in enumerate(rows) if row.wants]

    def decode_together(self, rows, part):
        """`part` has for each sequence the places of its rows. Returns logits by place."""
        numbers = list(part)
        live = [self.started(number) for number in numbers]
        tokens = [[rows[i].token for i in part[number]] for number in numbers]
        lengths = [len(each) for each in tokens]
        if len(numbers) == 1:
            logits = self.call(self.family, live[0].cache, tokens)
        else:
            logits = self.call_merged(live, tokens, lengths)
        for sequence, length in zip(live, lengths):
            sequence.rows += length
        return {i: logits[s, k].tolist() for s, number in enumerate(numbers) for k, i in enumerate(part[number])}

    def call_merged(self, live, tokens, lengths):
        merged = merge([sequence.cache for sequence in live])
        longest = max(lengths)
        padding = [longest - length for length in lengths]
        if max(padding) > 0:
            tokens = [each + [0] * pad for each, pad in zip(tokens, padding)]
            for layer in merged:
                layer.prepare(lengths=lengths, right_padding=padding)
        logits = self.call(self.family, merged, tokens)
        if max(padding) > 0:
            for layer in merged:
                layer.finalize()
        for i, sequence in enumerate(live):
            sequence.cache = [layer.extract(i) for layer in merged]
        return logits

    def draft(self, rows, keep):
        self.check_room(rows)
        number = rows[0].sequence
        sequence = self.started(number)
        after = sequence.rows + len(rows)
        if not caches.can_trim_prompt_cache(sequence.cache) or (after >= WINDOW and has_window(sequence.cache)):
            self.drop_unused(number)
            raise Refused("cannot_trim")
        logits = self.call(self.family, sequence.cache, [[row.token for row in rows]])[0]
        sequence.rows = after
        self.trim(sequence, len(rows) - keep)
        return wanted(rows, logits)

    def remove(self, sequence, first, end):
        live = self.live.get(sequence)
        rows = live.rows if live else 0
        count = rows_at_end(first, end, rows)
        if 0 < count == rows:
            self.live.pop(sequence)
        elif count > 0:
            self.trim(live, count)

    def trim(self, sequence, count):
        if count == 0:
            return
        if not caches.can_trim_prompt_cache(sequence.cache):
            raise Refused("cannot_trim")
        sequence.rows -= caches.trim_prompt_cache(sequence.cache, count)

    def copy(self, sequence, to):
        if sequence != to:
            self.put(to, self.copy_of(self.live.get(sequence)))

    def put(self, number, sequence):
        self.live.pop(number, None)
        if sequence is not None:
            self.live[number] = sequence

    def copy_of(self, source):
        if source is None:
            return None
        other, way = Sequence(None), self.chosen["copy"]
        other.rows = source.rows
        if way == "file":
            other.cache = loaded(saved(source))[0]
        elif way == "extract":
            other.cache = [layer.extract(1) for layer in merge([source.cache, source.cache])]
        else:
            other.cache = copy.deepcopy(source.cache)
        return other

    def clear(self):
        self.live.clear()

    def save(self, sequence):
        if sequence not in self.live:
            return b"", 0
        data = saved(self.live[sequence])
        return data, len(data)

    def load(self, data, sequence):
        found = None
        if data:
            cache, rows = loaded(data)
            found = Sequence(cache)
            found.rows = rows
        self.put(sequence, found)
        return len(data)

    def snapshot(self, sequence):
        return self.copy_of(self.live.get(sequence))

    def rollback(self, sequence, snapshot):
        self.put(sequence, self.copy_of(snapshot))

    def fork(self, snapshot, sequence):
        self.rollback(sequence, snapshot)

    def started(self, number):
        if number not in self.live:
            self.live[number] = Sequence(self.make_cache(self.family, self.chosen["rows"]))
        return self.live[number]

    def drop_unused(self, number):
        if self.live[number].rows == 0:
            self.live.pop(number)


def with_rows(layer, rows):
    """The layer's cache with rows of that kind; only caches of plain rows have others."""
    if isinstance(layer, caches.CacheList):
        return caches.CacheList(*(with_rows(part, rows) for part in layer.caches))
    if type(layer) is not caches.KVCache or rows == "plain":
        return layer
    return layer.to_quantized(group_size=32, bits=8) if rows == "quantized" else caches.ConcatenateKVCache()


def flat(cache):
    for layer in cache:
        yield from flat(layer.caches) if isinstance(layer, caches.CacheList) else [layer]


def kinds_of(cache):
    return [type(layer) for layer in flat(cache)]


def has_window(cache):
    return any(isinstance(layer, caches.RotatingKVCache) for layer in flat(cache))


def length_of(sequence):
    """As the engine says; states without rows do not count them."""
    offsets = [layer.offset for layer in flat(sequence.cache) if hasattr(layer, "offset")]
    return int(offsets[0]) if offsets else sequence.rows


def merge(several):
    return [layers[0].merge(list(layers)) for layers in zip(*several)]


def saved(sequence):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "prompt.safetensors")
        caches.save_prompt_cache(path, sequence.cache, {"rows": str(sequence.rows)})
        with open(path, "rb") as file:
            return file.read()


def loaded(data):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "prompt.safetensors")
        with open(path, "wb") as file:
            file.write(data)
        cache, metadata = caches.load_prompt_cache(path, return_metadata=True)
        mx.eval([layer.state for layer in cache])
    return cache, int(metadata["rows"])


def parts_of(rows, is_merged):
    """Rows that are called together: places by sequence. Alone, runs of one sequence; merged, all of the batch."""
    parts = []
    for i, row in enumerate(rows):
        if not parts or not (is_merged or row.sequence in parts[-1]):
            parts.append({})
        parts[-1].setdefault(row.sequence, []).append(i)
    return parts


def wanted(rows, logits):
    return logits[mx.array([i for i, row in enumerate(rows) if row.wants], dtype=mx.int32)].tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="default: " + " ".join(FAMILIES))
    arguments = parser.parse_args()
    unknown = [family for family in arguments.families if family not in FAMILIES]
    if unknown:
        parser.error("no such family: " + " ".join(unknown))
    mx.set_default_device(mx.cpu)
    with contextlib.redirect_stdout(sys.stderr):
        adapter = Adapter(arguments.families or list(FAMILIES))
    serve(adapter)


if __name__ == "__main__":
    main()
