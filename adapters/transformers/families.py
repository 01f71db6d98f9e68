# SPDX-License-Identifier: Apache-2.0
"""Tiny models of transformers' families: random weights from a fixed seed, vocabulary 64, eager attention.

Weights are scaled so that every row and every state matters: one token that is changed moves later logits far more
than another cutting of the same tokens into calls does.
"""

import math

import torch
from transformers import AutoConfig, AutoModelForCausalLM

VOCABULARY = 64
WINDOW = 8

COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "attention_dropout": 0.0,
}
EXPERTS = {
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 24,
}
MAMBA = {
    "mamba_n_heads": 8,
    "mamba_d_head": 8,
    "mamba_n_groups": 1,
    "mamba_d_state": 8,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_chunk_size": 8,
}
WINDOWED = ["sliding_attention", "full_attention"]
DELTA = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
    "layer_types": ["linear_attention", "full_attention"],
}
LATENT = {
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 8,
    "n_group": 1,
    "topk_group": 1,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
    "head_dim": 4,
}

# What a family's config has beside COMMON; None takes a field away.
FAMILIES = {
    "llama": {},
    "qwen3_next": {**EXPERTS, **DELTA, "decoder_sparse_step": 2},
    "qwen3_5_text": DELTA,
    "lfm2": {
        "conv_L_cache": 3,
        "conv_bias": True,
        "layer_types": ["conv", "full_attention"],
        "block_auto_adjust_ff_dim": False,
        "block_ff_dim": 48,
    },
    "falcon_h1": {**MAMBA, "mamba_d_ssm": 64, "projectors_bias": True},
    "bamba": {**MAMBA, "attn_layer_indices": [1]},
    "granitemoehybrid": {
        **MAMBA,
        **EXPERTS,
        "layer_types": ["mamba", "attention"],
        "shared_intermediate_size": 24,
    },
    "nemotron_h": {
        "layers_block_type": ["mamba", "attention"],
        "mamba_num_heads": 8,
        "mamba_head_dim": 8,
        "n_groups": 1,
        "ssm_state_size": 8,
        "conv_kernel": 4,
        "chunk_size": 8,
        "num_hidden_layers": None,
    },
    "jamba": {
        **EXPERTS,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
        "mamba_d_state": 8,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
        "mamba_dt_rank": 8,
        "use_mamba_kernels": False,
    },
    "mamba2": {
        "num_heads": 8,
        "head_dim": 8,
        "state_size": 8,
        "n_groups": 1,
        "conv_kernel": 4,
        "expand": 2,
        "chunk_size": 8,
        "num_attention_heads": None,
        "num_key_value_heads": None,
    },
    "mamba": {"state_size": 8, "conv_kernel": 4, "expand": 2, "time_step_rank": 8},
    "deepseek_v3": {**EXPERTS, **LATENT},
    "gemma3_text": {"sliding_window": WINDOW, "layer_types": WINDOWED, "query_pre_attn_scalar": 8},
    "gpt_oss": {**EXPERTS, "sliding_window": WINDOW, "layer_types": WINDOWED},
    "cohere2": {"sliding_window": WINDOW, "layer_types": WINDOWED},
    "mistral": {"sliding_window": WINDOW},
    # A window behind full attention: layers are told one after the other.
    "gemma3_text.full_first": {
        "sliding_window": WINDOW,
        "layer_types": WINDOWED[::-1],
        "query_pre_attn_scalar": 8,
    },
}


def make_config(family):
    fields = {**COMMON, **FAMILIES[family]}
    config = AutoConfig.for_model(family.split(".")[0], **{k: v for k, v in fields.items() if v is not None})
    config._attn_implementation = "eager"
    return config


def scale_of(name, parameter):
    """The standard deviation and the mean of a weight."""
    if "norm" in name and parameter.dim() == 1:
        return 0.1, None
    if name.endswith("A_log"):
        return 0.3, -1.5
    if name.endswith("dt_bias") or name.endswith("dt_proj.bias"):
        return 0.5, 0.0
    if parameter.dim() < 2:
        return 0.3, None
    if "embed" in name:
        return 1.0, 0.0
    fan_in = parameter.shape[-1] if "conv" not in name else parameter.shape[-1] * parameter.shape[1]
    return 1.4 / math.sqrt(fan_in), 0.0


def make_model(family, device, dtype):
    """The same weights on every call and every machine."""
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(make_config(family), attn_implementation="eager", dtype=torch.float32)
    generator = torch.Generator().manual_seed(20240229)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            deviation, mean = scale_of(name, parameter)
            noise = torch.randn(parameter.shape, generator=generator) * deviation
            parameter.copy_(noise + (parameter if mean is None else mean))
    return model.to(device=device, dtype=dtype).eval()
