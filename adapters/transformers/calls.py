# SPDX-License-Identifier: Apache-2.0
"""One family's model, and one call of it: plain, compiled, or as a CUDA graph that is captured once and replayed."""

import inspect

import torch
from caches import layers_of, make_cache
from families import ENCODER_DECODERS, ENCODER_TEXT, VOCABULARY, make_model
from transformers import cache_utils
from transformers.modeling_outputs import BaseModelOutput

WARM_UP = 3


class Model:
    def __init__(self, family, device, dtype, width):
        self.family, self.device = family, device
        self.model = make_model(family, device, dtype, width)
        names = inspect.signature(self.model.forward).parameters
        # The name of the argument changed from one version to another.
        self.cache_argument = next(name for name in ("cache", "past_key_values", "cache_params") if name in names)
        self.takes_positions = "position_ids" in names
        self.encoded = None
        self.compiled = None
        if family in ENCODER_DECODERS:
            text = torch.tensor([ENCODER_TEXT], device=device)
            with torch.no_grad():
                self.encoded = self.model.get_encoder()(text)[0]

    def make_cache(self, kind, length):
        return make_cache(self.model.config, self.family, kind, length)

    def fields(self, ids, positions=None, cache=None):
        """Arguments of a call; `ids` is beams x tokens, `positions` the same or None."""
        fields = {"use_cache": cache is not None}
        if self.encoded is None:
            fields["input_ids"] = ids
        else:
            fields["encoder_outputs"] = BaseModelOutput(self.encoded.expand(ids.shape[0], -1, -1))
            fields["decoder_input_ids"] = ids
        if positions is not None and self.takes_positions:
            fields["position_ids"] = positions
        if cache is not None:
            fields[self.cache_argument] = cache
        return fields

    @torch.no_grad()
    def cold(self, tokens):
        return self.model(**self.fields(torch.tensor([tokens], device=self.device))).logits[0]

    @torch.no_grad()
    def call(self, sequence, tokens, positions, graph="none"):
        """One call for all beams. Returns logits of the sequence's own beam, one for each token."""
        ids = torch.tensor([[(t + 1) % VOCABULARY for t in tokens]] * sequence.beams, device=self.device)
        ids[sequence.beam] = torch.tensor(tokens, device=self.device)
        places = None
        if positions == "given":
            first = sequence.rows
            places = torch.arange(first, first + len(tokens), device=self.device).expand(sequence.beams, -1)
        if graph == "captured" and len(tokens) == 1 and sequence.rows > 0 and can_capture(sequence.cache):
            if sequence.graph is None:
                sequence.graph = Graph(self, sequence.cache, ids, places)
            return sequence.graph.replay(ids, places)[sequence.beam]
        fields = self.fields(ids, places, sequence.cache)
        if graph == "compiled" and len(tokens) == 1 and sequence.rows > 0 and sequence.cache.is_compileable:
            if self.compiled is None:
                self.compiled = torch.compile(self.model, backend="cudagraphs" if self.device == "cuda" else "eager")
            torch.compiler.cudagraph_mark_step_begin()
            return self.compiled(**fields).logits[sequence.beam].clone()
        return self.model(**fields).logits[sequence.beam]


def can_capture(cache):
    """Whether all that a call of one token changes lies in tensors whose addresses stay."""
    kinds = (cache_utils.StaticLayer, cache_utils.LinearAttentionLayer)
    layers = [layer for layer in layers_of(cache) if not isinstance(layer, cache_utils.DummyLayer)]
    return cache.is_compileable and all(type(layer) in kinds for layer in layers)


def tensors_of(cache):
    found = []
    for layer in layers_of(cache):
        for value in vars(layer).values():
            parts = value.values() if isinstance(value, dict) else [value]
            found += [part for part in parts if isinstance(part, torch.Tensor)]
    return found


class Graph:
    """One captured call of one token on one cache. The cache is afterwards as it was before."""

    def __init__(self, model, cache, ids, places):
        self.ids, self.places = ids.clone(), None if places is None else places.clone()
        fields = model.fields(self.ids, self.places, cache)
        kept = [(tensor, tensor.clone()) for tensor in tensors_of(cache)]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                model.model(**fields)
                restore(kept)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.logits = model.model(**fields).logits
        restore(kept)

    def replay(self, ids, places):
        self.ids.copy_(ids)
        if places is not None:
            self.places.copy_(places)
        self.graph.replay()
        return self.logits.clone()


def restore(kept):
    for tensor, value in kept:
        tensor.copy_(value)
