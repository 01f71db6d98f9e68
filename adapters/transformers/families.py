# SPDX-License-Identifier: Apache-2.0
"""Tiny models of transformers' families: random weights from a fixed seed, vocabulary 64, eager attention.

Between them they make every class of layer of a cache: `holdfast run` says with the knobs `family` and `cache` which.

Weights are scaled so that every row and every state matters: one token that is changed moves later logits far more
than another cutting of the same tokens into calls does.
"""

import math

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

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
    # Rows of an indexer beside those of attention. With few heads many scores would be 0, and of equal ones any is taken.
    "deepseek_v32": {**EXPERTS, **LATENT, "index_topk": 8, "index_head_dim": 8, "index_n_heads": 8},
    # Chunks instead of a window.
    "llama4_text": {
        **EXPERTS,
        "num_experts_per_tok": 1,
        "moe_layers": [],
        "intermediate_size_mlp": 48,
        "attention_chunk_size": WINDOW,
        "layer_types": ["chunked_attention", "full_attention"],
        "no_rope_layers": [1, 0],
        "attn_temperature_tuning": False,
    },
    # The last two layers read the rows of the first two.
    "gemma4_text": {
        "num_hidden_layers": 4,
        "num_kv_shared_layers": 2,
        "sliding_window": WINDOW,
        "layer_types": WINDOWED * 2,
        "vocab_size_per_layer_input": VOCABULARY,
        "hidden_size_per_layer_input": 8,
    },
    # Attention and several convolutions in one layer, with a window and without.
    "inkling2_text": {
        **EXPERTS,
        "layer_types": ["hybrid_sliding", "hybrid"],
        "unpadded_vocab_size": VOCABULARY,
        "sliding_window_size": WINDOW,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 2,
        "swa_head_dim": 8,
        "conv_kernel_size": 4,
        "d_rel": 4,
        "rel_extent": 16,
        "n_layers_per_attn_res_block": 1,
        "intermediate_size": None,
    },
    # Rows that were made of several, and an indexer over them.
    "deepseek_v4": {
        **EXPERTS,
        "num_hidden_layers": 3,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "q_lora_rank": 16,
        "layer_types": ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"],
        "mlp_layer_types": ["moe"] * 3,
        "compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 8},
        "sliding_window": WINDOW,
        "o_groups": 2,
        "o_lora_rank": 8,
        "index_n_heads": 8,
        "index_head_dim": 16,
        "index_topk": 2,
        "hc_mult": 2,
        "hc_sinkhorn_iters": 2,
        "intermediate_size": None,
        "num_nextn_predict_layers": 0,
    },
    # A class of caches of its own.
    "minimax": {**EXPERTS, "layer_types": ["full_attention", "linear_attention"], "block_size": 8},
    "minimax.linear_first": {**EXPERTS, "layer_types": ["linear_attention", "full_attention"], "block_size": 8},
    # A window behind full attention: layers are told one after the other.
    "gemma3_text.full_first": {
        "sliding_window": WINDOW,
        "layer_types": WINDOWED[::-1],
        "query_pre_attn_scalar": 8,
    },
}

# Decoders that look at what an encoder made of a fixed text; fields have other names here.
ENCODED = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
    "tie_word_embeddings": False,
}
ENCODER_DECODERS = {
    "t5": {
        "d_kv": 8,
        "d_ff": 48,
        "num_layers": 2,
        "num_decoder_layers": 2,
        "num_heads": 4,
        "dropout_rate": 0.0,
    },
    "bart": {
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "max_position_embeddings": 512,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
    },
}
ENCODER_TEXT = tuple(range(3, 14))

# These fields grow with a model's width; heads keep their sizes, so that there are more of them.
WIDER = """
    hidden_size intermediate_size moe_intermediate_size shared_intermediate_size shared_expert_intermediate_size
    block_ff_dim intermediate_size_mlp num_attention_heads num_key_value_heads swa_num_attention_heads
    swa_num_key_value_heads linear_num_key_heads linear_num_value_heads mamba_n_heads mamba_d_ssm mamba_num_heads
    num_heads q_lora_rank kv_lora_rank d_model d_ff encoder_ffn_dim decoder_ffn_dim encoder_attention_heads
    decoder_attention_heads
""".split()


def make_config(family, width=1):
    if family in ENCODER_DECODERS:
        fields = {**ENCODED, **ENCODER_DECODERS[family]}
    else:
        fields = {**COMMON, **FAMILIES[family]}
    fields = {k: v * width if k in WIDER and v is not None else v for k, v in fields.items()}
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


def make_model(family, device, dtype, width=1):
    """The same weights on every call and every machine."""
    torch.manual_seed(1)
    maker = AutoModelForSeq2SeqLM if family in ENCODER_DECODERS else AutoModelForCausalLM
    model = maker.from_config(make_config(family, width), attn_implementation="eager", dtype=torch.float32)
    generator = torch.Generator().manual_seed(20240229)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            deviation, mean = scale_of(name, parameter)
            noise = torch.randn(parameter.shape, generator=generator) * deviation
            parameter.copy_(noise + (parameter if mean is None else mean))
    return model.to(device=device, dtype=dtype).eval()
