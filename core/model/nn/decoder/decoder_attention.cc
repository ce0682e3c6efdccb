#include <ATen/ATen.h>

#include "nn/decoder/attend.h"
#include "nn/fused.h"
#include "s2s/nn/decoder.h"

namespace s2s {
namespace {

/// [B, T, heads * D] -> [B, T, heads, D].
at::Tensor split_heads(const at::Tensor& x, int64_t head_dim) {
  return x.view({x.size(0), x.size(1), -1, head_dim});
}

/// What a layer does: the window is for local ones.
AttentionSpec attention_of(const DecoderSpec& spec, int64_t layer) {
  AttentionSpec attention = spec.attention;
  if (!spec.is_local(layer)) attention.window = 0;
  return attention;
}

}  // namespace

GroupedQueryAttention::GroupedQueryAttention(const DecoderSpec& spec, int64_t layer)
    : q_proj(spec.shape.hidden_size, spec.shape.num_attention_heads * spec.shape.head_dim,
             spec.qkv_bias, Init{Init::Kind::kNormal, spec.initializer_range}),
      k_proj(spec.shape.hidden_size, spec.shape.num_key_value_heads * spec.shape.head_dim,
             spec.qkv_bias, Init{Init::Kind::kNormal, spec.initializer_range}),
      v_proj(spec.shape.hidden_size, spec.shape.num_key_value_heads * spec.shape.head_dim,
             spec.qkv_bias, Init{Init::Kind::kNormal, spec.initializer_range}),
      o_proj(spec.shape.num_attention_heads * spec.shape.head_dim, spec.shape.hidden_size,
             spec.o_bias, Init{Init::Kind::kNormal, spec.initializer_range}),
      layer_(layer),
      head_dim_(spec.shape.head_dim),
      attention_(attention_of(spec, layer)) {
  register_block("q_proj", q_proj);
  register_block("k_proj", k_proj);
  register_block("v_proj", v_proj);
  register_block("o_proj", o_proj);
  if (!spec.qk_norm) return;
  q_norm = std::make_unique<RmsNorm>(head_dim_, spec.norm_eps, spec.norm_weight);
  k_norm = std::make_unique<RmsNorm>(head_dim_, spec.norm_eps, spec.norm_weight);
  register_block("q_norm", *q_norm);
  register_block("k_norm", *k_norm);
}

GroupedQueryAttention::~GroupedQueryAttention() = default;

at::Tensor GroupedQueryAttention::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  const auto turned = [&](Linear& projection, RmsNorm* norm) {
    const at::Tensor heads = split_heads(projection(x_BTH), head_dim_);
    return rotate(norm ? (*norm)(heads) : heads, info.cos_TD, info.sin_TD).transpose(1, 2);
  };
  const at::Tensor q = turned(q_proj, q_norm.get());
  at::Tensor k = turned(k_proj, k_norm.get());
  at::Tensor v = split_heads(v_proj(x_BTH), head_dim_).transpose(1, 2);
  if (info.cache != nullptr) {
    std::tie(k, v) = info.cache->append(layer_, k, v, attention_.window);
  }
  const at::Tensor y_BTHD = attend(q, k, v, attention_).transpose(1, 2);
  return o_proj(y_BTHD.reshape({y_BTHD.size(0), y_BTHD.size(1), -1}));
}

}  // namespace s2s
