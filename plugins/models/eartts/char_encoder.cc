#include "char_encoder.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "s2s/nn/transformer.h"

namespace s2s::eartts {
namespace {

RotarySpec rotary_spec(const CharEncoderOptions& options) {
  RotarySpec spec;
  spec.theta = options.rope_theta;
  return spec;
}

}  // namespace

DecoderSpec gelu_mlp_spec(int64_t hidden_size, int64_t intermediate_size) {
  DecoderSpec spec;
  spec.shape.hidden_size = hidden_size;
  spec.shape.intermediate_size = intermediate_size;
  spec.activation = GateActivation::kGeluTanh;
  return spec;
}

CharAttention::CharAttention(const CharEncoderOptions& options)
    : options_(options),
      q_proj_(options.hidden_size, options.num_attention_heads * options.head_dim,
              options.attention_bias),
      k_proj_(options.hidden_size, options.num_key_value_heads * options.head_dim,
              options.attention_bias),
      v_proj_(options.hidden_size, options.num_key_value_heads * options.head_dim,
              options.attention_bias),
      o_proj_(options.num_attention_heads * options.head_dim, options.hidden_size,
              options.attention_bias) {
  register_block("q_proj", q_proj_);
  register_block("k_proj", k_proj_);
  register_block("v_proj", v_proj_);
  register_block("o_proj", o_proj_);
}

CharAttention::~CharAttention() = default;

at::Tensor CharAttention::operator()(const at::Tensor& x_NLH, const at::Tensor& cos_LD,
                                     const at::Tensor& sin_LD, const at::Tensor& hidden_keys) {
  const auto heads = [&](Linear& projection) {
    return to_heads(projection(x_NLH), options_.head_dim);
  };
  const int64_t shared = options_.num_attention_heads / options_.num_key_value_heads;
  const at::Tensor query = rotate_halves(heads(q_proj_), cos_LD, sin_LD);
  const at::Tensor key = rotate_halves(heads(k_proj_), cos_LD, sin_LD).repeat_interleave(shared, 1);
  const at::Tensor value = heads(v_proj_).repeat_interleave(shared, 1);
  at::Tensor scores =
      at::matmul(query, key.transpose(2, 3)) / std::sqrt(options_.query_pre_attn_scalar);
  if (const auto cap = options_.attn_logit_softcapping) scores = (scores / *cap).tanh() * *cap;
  // A finite number, because a subword without characters would give NaN.
  const double least = std::numeric_limits<float>::lowest();
  at::Tensor weights = scores.to(at::kFloat).masked_fill(hidden_keys, least).softmax(-1);
  weights = at::dropout(weights, options_.attention_dropout, is_training());
  const at::Tensor seen = at::matmul(weights.to(value.scalar_type()), value);
  return o_proj_(from_heads(seen));
}

CharLayer::CharLayer(const CharEncoderOptions& options)
    : pre_self_attn_layernorm_(options.hidden_size, options.rms_norm_eps, NormWeight::kAddedToOne),
      self_attn_(options),
      post_self_attn_layernorm_(options.hidden_size, options.rms_norm_eps, NormWeight::kAddedToOne),
      pre_feedforward_layernorm_(options.hidden_size, options.rms_norm_eps,
                                 NormWeight::kAddedToOne),
      mlp_(gelu_mlp_spec(options.hidden_size, options.intermediate_size)),
      post_feedforward_layernorm_(options.hidden_size, options.rms_norm_eps,
                                  NormWeight::kAddedToOne) {
  register_block("pre_self_attn_layernorm", pre_self_attn_layernorm_);
  register_block("self_attn", self_attn_);
  register_block("post_self_attn_layernorm", post_self_attn_layernorm_);
  register_block("pre_feedforward_layernorm", pre_feedforward_layernorm_);
  register_block("mlp", mlp_);
  register_block("post_feedforward_layernorm", post_feedforward_layernorm_);
}

CharLayer::~CharLayer() = default;

at::Tensor CharLayer::operator()(const at::Tensor& x_NLH, const at::Tensor& cos_LD,
                                 const at::Tensor& sin_LD, const at::Tensor& hidden_keys) {
  const at::Tensor attended =
      self_attn_(pre_self_attn_layernorm_(x_NLH), cos_LD, sin_LD, hidden_keys);
  const at::Tensor y_NLH = x_NLH + post_self_attn_layernorm_(attended);
  return y_NLH + post_feedforward_layernorm_(mlp_(pre_feedforward_layernorm_(y_NLH)));
}

CharEncoder::CharEncoder(const CharEncoderOptions& options)
    : options_(options),
      rotary_(rotary_spec(options), options.head_dim),
      norm_(options.hidden_size, options.rms_norm_eps, NormWeight::kAddedToOne) {
  for (int64_t i = 0; i < options.num_hidden_layers; ++i) {
    layers_.push_back(std::make_unique<CharLayer>(options));
    register_block("layers." + std::to_string(i), *layers_.back());
  }
  register_block("norm", norm_);
}

CharEncoder::~CharEncoder() = default;

at::Tensor CharEncoder::operator()(const at::Tensor& embedded_NLH, const at::Tensor& mask_NL) {
  const auto [cos_LD, sin_LD] =
      rotary_.at_positions(0, embedded_NLH.size(1), embedded_NLH.device());
  const at::Tensor hidden_keys = mask_NL.logical_not().unsqueeze(1).unsqueeze(1);
  // The factor is rounded to the dtype of the embeddings, as in transformers.
  const at::Tensor scale =
      at::full({}, std::sqrt(static_cast<double>(options_.hidden_size)), embedded_NLH.options());
  at::Tensor x_NLH = embedded_NLH * scale;
  for (const auto& layer : layers_) x_NLH = (*layer)(x_NLH, cos_LD, sin_LD, hidden_keys);
  return norm_(x_NLH);
}

}  // namespace s2s::eartts
