# SPDX-License-Identifier: Apache-2.0
"""Tiny models of mlx-lm: random weights from a fixed seed, vocabulary 64, two layers that differ where kinds do.

Weights are scaled so that every row and every state matters.
"""

import importlib
import math

import mlx.core as mx
from mlx.utils import tree_flatten, tree_unflatten

VOCABULARY, WINDOW, HEAD = 64, 8, 32

COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": HEAD,
    "rms_norm_eps": 1e-6,
    "layer_norm_eps": 1e-6,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
    "rope_theta": 10000.0,
}
EXPERTS = {
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 24,
}
WINDOWED = ["sliding_attention", "full_attention"]

FAMILIES = {
    "llama": {},
    "llama.window": {"sliding_window": WINDOW, "layer_types": WINDOWED},
    "gemma3_text": {"sliding_window": WINDOW, "sliding_window_pattern": 2, "query_pre_attn_scalar": HEAD},
    "cohere2": {"sliding_window": WINDOW, "sliding_window_pattern": 2},
    "gpt_oss": {**EXPERTS, "sliding_window": WINDOW, "layer_types": WINDOWED},
    "qwen3_next": {
        **EXPERTS,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 8,
        "linear_conv_kernel_dim": 4,
        "decoder_sparse_step": 2,
        "mlp_only_layers": [],
        "partial_rotary_factor": 0.25,
        "full_attention_interval": 2,
        "norm_topk_prob": True,
    },
    "lfm2": {
        "norm_eps": 1e-6,
        "conv_bias": True,
        "conv_L_cache": 3,
        "block_dim": 64,
        "block_ff_dim": 48,
        "block_multiple_of": 8,
        "block_ffn_dim_multiplier": 1.0,
        "block_auto_adjust_ff_dim": False,
        "layer_types": ["conv", "full_attention"],
    },
    "falcon_h1": {
        "mamba_d_ssm": 128,
        "mamba_n_heads": 16,
        "mamba_d_head": 8,
        "mamba_d_state": 8,
        "mamba_chunk_size": 8,
    },
    "jamba": {
        **EXPERTS,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
        "mamba_d_conv": 4,
        "mamba_d_state": 8,
        "mamba_expand": 2,
        "mamba_dt_rank": 8,
    },
    "mamba2": {
        "num_heads": 16,
        "head_dim": 8,
        "intermediate_size": 128,
        "state_size": 8,
        "layer_norm_epsilon": 1e-6,
        "conv_kernel": 4,
        "n_groups": 1,
        "use_bias": False,
        "use_conv_bias": True,
        "time_step_limit": (0.0, 100.0),
        "time_step_rank": 8,
    },
    "mamba": {
        "intermediate_size": 128,
        "state_size": 8,
        "conv_kernel": 4,
        "use_bias": False,
        "use_conv_bias": True,
        "time_step_rank": 8,
    },
    "deepseek_v32": {
        "num_key_value_heads": 2,
        "q_lora_rank": 16,
        "kv_lora_rank": 32,
        "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 16,
        "v_head_dim": 16,
        "index_head_dim": 32,
        "index_n_heads": 8,
        "index_topk": 8,
        "moe_intermediate_size": 24,
        "first_k_dense_replace": 2,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
    },
}


def deviation_of(name, array):
    """The standard deviation of a weight, and whether it is added to what the model began with."""
    if "norm" in name and array.ndim == 1:
        return 0.1, True
    if name.endswith("A_log"):
        return 0.3, True
    if array.ndim < 2:
        return 0.3, True
    if "embed" in name:
        return 1.0, False
    fan_in = array.shape[-1] if "conv" not in name else array.size // array.shape[0]
    return 1.4 / math.sqrt(fan_in), False


def make_model(family):
    """The same weights on every call."""
    name = family.split(".")[0]
    module = importlib.import_module("mlx_lm.models." + name)
    config = {"model_type": name, **COMMON, **FAMILIES[family]}
    mx.random.seed(1)
    model = module.Model(module.ModelArgs.from_dict(config))
    weights = []
    for path, array in sorted(tree_flatten(model.parameters()), key=lambda item: item[0]):
        deviation, is_added = deviation_of(path, array)
        noise = mx.random.normal(array.shape) * deviation
        weights.append((path, (array + noise if is_added else noise).astype(array.dtype)))
    model.update(tree_unflatten(weights))
    mx.eval(model.parameters())
    return model
