// SPDX-License-Identifier: Apache-2.0
#include "adapters/llama.cpp/tiny_models.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ggml-backend.h"
#include "ggml.h"
#include "gguf.h"

namespace holdfast::llama_cpp {

namespace {

// splitmix64: the same weights on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  float normal() {
    float const u = std::max(uniform(), 1e-7F);
    return std::sqrt(-2.0F * std::log(u)) * std::cos(6.2831853F * uniform());
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  float uniform() { return static_cast<float>(next() >> 40U) * (1.0F / 16777216.0F); }

  std::uint64_t state_;
};

std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 1469598103934665603ULL;
  for (char const c : text) {
    h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return h;
}

// A weight from a normal number, by what the tensor is: decays stay negative and gentle, norms near 1.
float weight(std::string_view name, bool is_vector, std::int64_t inputs, float x) {
  auto const has = [&](std::string_view part) { return name.find(part) != name.npos; };
  bool const bias = name.size() > 5 && name.substr(name.size() - 5) == ".bias";
  // Some builds make these optional tensors; then they are what they are without them.
  if (has("rope_freqs") || has("scale")) {
    return 1.0F;
  }
  if (has("ssm_a")) {
    return -(0.1F + 0.6F * std::fabs(x));
  }
  if (has("ssm_dt") && bias) {
    return 0.3F * x;
  }
  if ((has("norm") && !bias) || (has("ssm_d") && is_vector)) {
    return 1.0F + 0.2F * x;
  }
  if (has("conv")) {
    return 0.5F * x;
  }
  if (bias || is_vector) {
    return 0.2F * x;
  }
  return has("token_embd") ? x : x * 1.2F / std::sqrt(static_cast<float>(inputs));
}

void fill(ggml_tensor* tensor, void* seed) {
  const std::string_view name = tensor->name;
  Random random(*static_cast<std::uint64_t const*>(seed) ^ hash(name));
  std::vector<float> values(static_cast<std::size_t>(ggml_nelements(tensor)));
  for (float& value : values) {
    value = weight(name, ggml_n_dims(tensor) <= 1, tensor->ne[0], random.normal());
  }
  if (tensor->type == GGML_TYPE_F32) {
    ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
    return;
  }
  if (tensor->type == GGML_TYPE_F16) {
    std::vector<ggml_fp16_t> halves(values.size());
    std::transform(values.begin(), values.end(), halves.begin(), ggml_fp32_to_fp16);
    ggml_backend_tensor_set(tensor, halves.data(), 0, ggml_nbytes(tensor));
    return;
  }
  std::fprintf(stderr, "tensor %s: no weights of type %d\n", tensor->name, tensor->type);
  std::abort();
}

// The metadata of one model: what a file of weights would say in its header.
class Metadata {
 public:
  explicit Metadata(Architecture const& a)
      : gguf_(gguf_init_empty()), prefix_(std::string(a.name) + ".") {
    gguf_set_val_str(gguf_, "general.architecture", std::string(a.name).c_str());
    gguf_set_val_str(gguf_, "tokenizer.ggml.model", "none");
  }
  Metadata(Metadata const&) = delete;
  Metadata& operator=(Metadata const&) = delete;
  ~Metadata() { gguf_free(gguf_); }

  void set(char const* key, std::uint32_t value) {
    gguf_set_val_u32(gguf_, (prefix_ + key).c_str(), value);
  }
  void set(char const* key, float value) {
    gguf_set_val_f32(gguf_, (prefix_ + key).c_str(), value);
  }
  void set_yes(char const* key) { gguf_set_val_bool(gguf_, (prefix_ + key).c_str(), true); }
  void set(char const* key, std::vector<std::uint32_t> const& values) {
    gguf_set_arr_data(
        gguf_, (prefix_ + key).c_str(), GGUF_TYPE_UINT32, values.data(), values.size());
  }

  // Says that the file has this tensor, in f32.
  void name_tensor(std::string const& name) {
    ggml_tensor tensor = {};
    tensor.type = GGML_TYPE_F32;
    std::fill_n(tensor.ne, GGML_MAX_DIMS, 1);
    std::fill_n(tensor.nb, GGML_MAX_DIMS, sizeof(float));
    std::snprintf(tensor.name, sizeof tensor.name, "%s", name.c_str());
    gguf_add_tensor(gguf_, &tensor);
    ++tensors_;
  }

  gguf_context* gguf() { return gguf_; }
  int tensors() const { return tensors_; }

 private:
  gguf_context* gguf_;
  std::string prefix_;
  int tensors_ = 0;
};

void set_heads(Metadata& m, Architecture const& a) {
  if (a.has(kLayerHeads)) {
    m.set("attention.head_count", std::vector<std::uint32_t>(a.layers, a.heads));
    m.set("attention.head_count_kv", std::vector<std::uint32_t>{0, a.heads, 0});
  } else {
    m.set("attention.head_count", a.heads);
    m.set("attention.head_count_kv", a.has(kCompressed) ? 1 : a.heads);
  }
  m.set("attention.layer_norm_epsilon", 1e-5F);
  m.set("attention.layer_norm_rms_epsilon", 1e-5F);
}

void set_experts(Metadata& m, Architecture const& a) {
  m.set("expert_count", 2U);
  m.set("expert_used_count", 2U);
  m.set("expert_feed_forward_length", a.inner);
}

void set_indexer(Metadata& m) {
  m.set("attention.indexer.head_count", 64U);
  m.set("attention.indexer.key_length", 64U);
  m.set("attention.indexer.top_k", 131072U);  // selects every row, so that every row matters
}

void set_latent(Metadata& m) {
  m.set("leading_dense_block_count", 1U);
  m.set("attention.kv_lora_rank", 32U);
  m.set("attention.q_lora_rank", 32U);
  m.set("rope.dimension_count", 16U);
  m.set("attention.key_length", 48U);
  m.set("attention.value_length", 32U);
  m.set("attention.key_length_mla", 48U);
  m.set("attention.value_length_mla", 32U);
  m.set("expert_shared_count", 1U);
  m.set("expert_gating_func", 2U);
  m.set("expert_weights_scale", 1.0F);
  m.set("kda.head_dim", 32U);
  m.set("ssm.conv_kernel", 4U);
}

void set_selective_state(Metadata& m, Architecture const& a) {
  m.set("ssm.conv_kernel", 4U);
  m.set("ssm.inner_size", 2 * a.width);
  m.set("ssm.state_size", 16U);
  m.set("ssm.time_step_rank", 4U);
  m.set("ssm.group_count", 2U);
  if (a.has(kAttention)) {
    m.set("rope.dimension_count", a.width / a.heads);
  }
}

void set_delta_state(Metadata& m, Architecture const& a) {
  m.set("full_attention_interval", 3U);
  m.set("ssm.conv_kernel", 4U);
  m.set("ssm.inner_size", 64U);
  m.set("ssm.state_size", 32U);
  m.set("ssm.time_step_rank", 2U);
  m.set("ssm.group_count", 2U);
  m.set("rope.dimension_sections", std::vector<std::uint32_t>{4, 4, 4, 4});
  m.set("rope.dimension_count", 16U);
  m.set("attention.key_length", 32U);
  m.set("attention.value_length", 32U);
  m.set("expert_feed_forward_length", a.inner);
  m.set("expert_shared_feed_forward_length", a.inner);
}

void set_short_conv(Metadata& m, Architecture const& a) {
  m.set("shortconv.l_cache", 3U);
  if (a.has(kExperts)) {
    m.set("leading_dense_block_count", 1U);
    m.set("expert_gating_func", 2U);
  }
}

void set_window(Metadata& m, Architecture const& a) {
  m.set("attention.sliding_window", static_cast<std::uint32_t>(kWindow));
  m.set("logit_scale", 1.0F);
  if (!a.has(kCompressed)) {
    m.set("attention.sliding_window_pattern", 3U);
  }
}

void set_compressed(Metadata& m, Architecture const& a) {
  const std::uint32_t head = a.width / a.heads;
  m.set("attention.key_length", head);
  m.set("attention.value_length", head);
  m.set("rope.dimension_count", head / 2);
  m.set("attention.q_lora_rank", 32U);
  m.set("attention.output_group_count", 2U);
  m.set("attention.output_lora_rank", 32U);
  m.set("attention.compress_ratios", std::vector<std::uint32_t>{0, 0, 4, 128});
  m.set("attention.compress_rope_freq_base", 160000.0F);
  m.set("hyper_connection.count", 4U);
  m.set("hyper_connection.sinkhorn_iterations", 2U);
  m.set("hyper_connection.epsilon", 1e-6F);
  m.set("hash_layer_count", 0U);
  m.set("swiglu_clamp_exp", 10.0F);
  m.set("expert_weights_scale", 1.0F);
  m.set_yes("expert_weights_norm");
  m.set("expert_shared_count", 1U);
  m.set("expert_gating_func", 4U);
}

void set_all(Metadata& m, Architecture const& a) {
  m.set("vocab_size", kVocabulary);
  m.set("context_length", 4096U);
  m.set("embedding_length", a.width);
  m.set("block_count", a.layers);
  if (a.name == "nemotron_h") {
    m.set("feed_forward_length", std::vector<std::uint32_t>{0, 0, a.inner});
  } else {
    m.set("feed_forward_length", a.inner);
  }
  set_heads(m, a);
  if (a.has(kLatent)) {
    set_latent(m);
  }
  if (a.has(kSelectiveState)) {
    set_selective_state(m, a);
  }
  if (a.has(kDeltaState) && !a.has(kLatent)) {
    set_delta_state(m, a);
  }
  if (a.has(kShortConv)) {
    set_short_conv(m, a);
  }
  if (a.has(kWindowed)) {
    set_window(m, a);
  }
  if (a.has(kCompressed)) {
    set_compressed(m, a);
  }
  if (a.has(kExperts)) {
    set_experts(m, a);
  }
  if (a.has(kIndexed)) {
    set_indexer(m);
  }
  if (a.name == "gemma3" || a.name == "falcon-h1") {
    m.set("attention.key_length", a.width / a.heads);
    m.set("attention.value_length", a.width / a.heads);
  }
}

// Loaders make these tensors only when the metadata names them.
void name_optional_tensors(Metadata& m, Architecture const& a) {
  bool const names_bias =
      a.name == "nemotron_h" || a.name == "granitehybrid" || a.name == "falcon-h1";
  for (std::uint32_t layer = 0; layer < a.layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    if (a.has(kDeltaState) && !a.has(kLatent) && (layer + 1) % 3 != 0) {
      m.name_tensor(block + "attn_qkv.weight");
      m.name_tensor(block + "attn_gate.weight");
    }
    bool const attends = a.name != "falcon-h1" && layer == 1;
    bool const feeds_only = a.name == "nemotron_h" && layer == 2;
    if (names_bias && !attends && !feeds_only) {
      m.name_tensor(block + "ssm_conv1d.bias");
    }
  }
}

// Collects what the loader logs as errors while it lives.
class ErrorLog {
 public:
  ErrorLog() {
    llama_log_get(&callback_, &data_);
    llama_log_set(
        [](ggml_log_level level, char const* text, void* self) {
          if (level == GGML_LOG_LEVEL_ERROR) {
            static_cast<ErrorLog*>(self)->text_ += text;
          }
        },
        this);
  }
  ErrorLog(ErrorLog const&) = delete;
  ErrorLog& operator=(ErrorLog const&) = delete;
  ~ErrorLog() { llama_log_set(callback_, data_); }

  std::string const& text() const { return text_; }

 private:
  ggml_log_callback callback_ = nullptr;
  void* data_ = nullptr;
  std::string text_;
};

Model load(Metadata& metadata, std::uint64_t seed, std::string& why) {
  const ErrorLog log;
  std::array<ggml_backend_dev_t, 1> no_devices = {nullptr};
  llama_model_params parameters = llama_model_default_params();
  parameters.devices = no_devices.data();
  parameters.use_extra_bufts = false;
  parameters.progress_callback = [](float, void*) { return true; };
  Model model(llama_model_init_from_user(metadata.gguf(), fill, &seed, parameters));
  why = log.text();
  return model;
}

}  // namespace

std::vector<Architecture> const& architectures() {
  static const std::vector<Architecture> all = {
      {"llama", kAttention, 32, 2, 2, 48},
      {"deepseek2", kAttention | kLatent | kExperts, 64, 1, 2, 48},
      {"deepseek32", kAttention | kLatent | kExperts | kIndexed, 64, 1, 2, 48},
      {"deepseek4",
       kCompressed | kWindowed | kExperts | kIndexed | kRollback | kFixed,
       128,
       2,
       4,
       64},
      {"gemma3", kAttention | kWindowed, 32, 2, 3, 48},
      {"cohere2", kAttention | kWindowed, 32, 2, 3, 48},
      {"gpt-oss", kAttention | kWindowed | kExperts, 32, 2, 3, 48},
      {"mamba", kSelectiveState, 32, 2, 2, 48},
      {"mamba2", kSelectiveState, 32, 2, 2, 48},
      {"jamba", kLayerHeads | kSelectiveState, 32, 2, 3, 48},
      {"falcon-h1", kAttention | kSelectiveState, 32, 2, 3, 48},
      {"granitehybrid", kAttention | kLayerHeads | kSelectiveState, 32, 2, 3, 48},
      {"nemotron_h", kAttention | kLayerHeads | kSelectiveState | kRollback, 32, 2, 3, 48},
      {"lfm2", kLayerHeads | kShortConv | kRollback, 32, 2, 3, 48},
      {"lfm2moe", kLayerHeads | kShortConv | kExperts | kRollback, 32, 2, 3, 48},
      {"qwen35", kAttention | kDeltaState | kRollback | kFixed, 64, 2, 3, 48},
      {"qwen35moe", kAttention | kDeltaState | kExperts | kRollback | kFixed, 64, 2, 3, 48},
      {"qwen3next", kAttention | kDeltaState | kExperts, 64, 2, 3, 48},
      {"kimi-linear", kLayerHeads | kLatent | kDeltaState | kExperts, 64, 1, 3, 48},
  };
  return all;
}

Architecture const* find_architecture(std::string_view name) {
  auto const& all = architectures();
  auto const found =
      std::find_if(all.begin(), all.end(), [&](Architecture const& a) { return a.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Model make_tiny_model(Architecture const& architecture, std::uint64_t seed, std::string& why) {
  Metadata metadata(architecture);
  set_all(metadata, architecture);
  name_optional_tensors(metadata, architecture);
  Model model = load(metadata, seed, why);
  // Some builds want the metadata to name as many tensors as the model makes: "expected 3, got 21".
  const std::size_t got = why.find(", got ");
  if (model != nullptr || got == why.npos) {
    return model;
  }
  int const wanted = std::atoi(why.c_str() + got + 6) - metadata.tensors();
  for (int i = 0; i < wanted; ++i) {
    metadata.name_tensor("unused." + std::to_string(i));
  }
  return load(metadata, seed, why);
}

}  // namespace holdfast::llama_cpp
