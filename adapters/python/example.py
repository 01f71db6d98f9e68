#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small engine of one's own behind the harness; the template for another.

The engine keeps the last rows of each sequence in pages that copies share, and a running state beside them. Its
logits are a function of both. Run as it is, nothing is wrong. `--bug shared` writes into a page that a copy still
uses, and `--bug state` forgets to copy the running state.
"""

import math
import sys

from holdfast_target import Refused, Row, Target, serve

VOCABULARY, PAGE, WINDOW, CONTEXT = 16, 4, 8, 128


class Cache:
    """What an engine would have: rows of each sequence in pages, and a state that cannot be taken back."""

    def __init__(self, bug=""):
        self.bug = bug
        self.pages = {}  # sequence: its pages, each a list of tokens
        self.count = {}
        self.state = {}

    def append(self, sequence, token):
        pages = self.pages.setdefault(sequence, [])
        count = self.count.get(sequence, 0)
        if count % PAGE == 0:
            pages.append([])
        elif self.bug != "shared" and self.is_shared(sequence, pages[-1]):
            pages[-1] = list(pages[-1])
        del pages[-1][count % PAGE :]
        pages[-1].append(token)
        self.count[sequence] = count + 1
        self.state[sequence] = math.sin(1.3 * self.state.get(sequence, 0.0) + token + 1)

    def is_shared(self, sequence, page):
        return any(page is p for s, pages in self.pages.items() if s != sequence for p in pages)

    def copy(self, sequence, to):
        if sequence == to:
            return
        self.forget(to)
        if sequence in self.pages:
            self.pages[to] = list(self.pages[sequence])
            self.count[to] = self.count[sequence]
            self.state[to] = 0.0 if self.bug == "state" else self.state[sequence]

    def forget(self, sequence):
        for part in (self.pages, self.count, self.state):
            part.pop(sequence, None)

    def logits(self, sequence):
        count = self.count[sequence]
        tokens = [token for page in self.pages[sequence] for token in page][:count][-WINDOW:]
        rows = [(len(tokens) - i, token) for i, token in enumerate(tokens)]
        return [
            sum(math.cos(age * (entry + 1) + token) / age for age, token in rows)
            + math.cos((entry + 1) * self.state[sequence])
            for entry in range(VOCABULARY)
        ]


class Adapter(Target):
    """What each line of the protocol does to the engine. It judges nothing."""

    engine, version = "example", "1"
    vocabulary, sequences, context, batch = VOCABULARY, 3, CONTEXT, 32
    edges = {"page": PAGE, "window": WINDOW}
    legal = (
        "remove when=partial",
        "decode when=full",
    )

    def __init__(self, bug):
        self.bug = bug
        self.reset({}, 0)

    def reset(self, knobs, seed):
        self.cache = Cache(self.bug)

    def positions(self):
        return {sequence: (0, count - 1) for sequence, count in self.cache.count.items()}

    def cold(self, rows, first):
        return list(run(Cache(self.bug), rows))

    def decode(self, rows):
        if sum(self.cache.count.values()) + len(rows) > self.context or len(rows) > self.batch:
            raise Refused("no_room")
        return list(run(self.cache, rows))

    def remove(self, sequence, first, end):
        """A state cannot be taken back: the whole sequence or nothing."""
        count = self.cache.count.get(sequence, 0)
        first, end = first or 0, count if end is None else min(end, count)
        if first >= end:
            return
        if first != 0 or end != count:
            raise Refused("partial")
        self.cache.forget(sequence)

    def copy(self, sequence, to):
        self.cache.copy(sequence, to)

    def clear(self):
        self.cache = Cache(self.bug)


def run(cache: Cache, rows: "list[Row]"):
    for row in rows:
        cache.append(row.sequence, row.token)
        if row.wants:
            yield cache.logits(row.sequence)


if __name__ == "__main__":
    serve(Adapter(sys.argv[2] if len(sys.argv) == 3 and sys.argv[1] == "--bug" else ""))
