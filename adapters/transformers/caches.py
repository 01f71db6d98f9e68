# SPDX-License-Identifier: Apache-2.0
"""Caches of transformers by the name of the knob `cache`, and what their interface says of them."""

import torch
import transformers
from families import ENCODER_DECODERS, ENCODER_TEXT
from transformers import DynamicCache, EncoderDecoderCache, StaticCache, cache_utils

# The first is the plainest. What a family does not take is refused when it is asked for.
CACHES = ("dynamic", "static", "growing", "quantized", "fp8")
# Offloading needs a device to come from.
OFFLOADED = ("dynamic_offloaded", "static_offloaded")


class WholeQuantizedLayer(cache_utils.QuantizedLayer):
    """All of QuantizedLayer - rows not yet quantized, reordering that waits - over a storage that loses nothing."""

    def __init__(self):
        super().__init__(residual_length=6)

    def _quantize(self, tensor, axis):
        return tensor.clone()

    def _dequantize(self, q_tensor):
        return q_tensor.clone()


if hasattr(cache_utils, "Fp8QuantizedLayer"):

    class WideFp8Layer(cache_utils.Fp8QuantizedLayer):
        """All of Fp8QuantizedLayer with elements so wide that nothing is lost."""

        fp8_dtype = torch.float32


def make_cache(config, family, kind, length):
    """A cache of that class for one sequence of up to `length` rows. Raises what the class raises."""
    if family.startswith("minimax"):
        if kind != "dynamic":
            raise ValueError("minimax has a class of its own")
        return transformers.models.minimax.modeling_minimax.MiniMaxCache()
    if family in ENCODER_DECODERS:
        # What the encoder gave is read from the layers themselves, so that it cannot be quantized.
        crossed = "dynamic" if kind in ("quantized", "fp8") else kind
        return EncoderDecoderCache(plain(config, kind, length), plain(config, crossed, len(ENCODER_TEXT)))
    return plain(config, kind, length)


def plain(config, kind, length):
    if kind.startswith("static"):
        return StaticCache(config=config, max_cache_len=length, offloading=kind == "static_offloaded")
    if kind == "growing":
        return DynamicCache()
    if kind in ("quantized", "fp8"):
        cache = cache_utils.QuantizedCache("fp8", config)
        layer = WholeQuantizedLayer if kind == "quantized" else WideFp8Layer
        cache.layers = [layer() for _ in cache.layers]
        return cache
    return DynamicCache(config=config, offloading=kind == "dynamic_offloaded")


def layers_of(cache):
    return cache.self_attention_cache.layers if isinstance(cache, EncoderDecoderCache) else cache.layers


def is_attention_alone(cache):
    """Whether all layers keep all rows: nothing must be recorded before a crop."""
    keeps = not any(getattr(layer, "is_sliding", False) for layer in layers_of(cache))
    return keeps and not any(hasattr(layer, "recurrent_states") for layer in layers_of(cache))


def length_of(sequence):
    """As the engine says; a cache without attention does not count its rows."""
    try:
        return int(sequence.cache.get_seq_length())
    except ValueError:
        return sequence.rows
