#include <ATen/ATen.h>

#include "nn/attend.h"
#include "nn/fused.h"
#include "s2s/decoder.h"

namespace s2s {
namespace {

/// [B, T, heads * D] -> [B, T, heads, D].
at::Tensor split_heads(const at::Tensor& x, int64_t head_dim) {
  return x.view({x.size(0), x.size(1), -1, head_dim});
}

/// What a layer does: the window is for local ones.
AttentionFacts attention_of(const DecoderFacts& facts, int64_t layer) {
  AttentionFacts attention = facts.attention;
  if (!facts.is_local(layer)) attention.window = 0;
  return attention;
}

}  // namespace

GroupedQueryAttention::GroupedQueryAttention(const DecoderFacts& facts, int64_t layer)
    : q_proj(facts.shape.hidden_size, facts.shape.num_attention_heads * facts.shape.head_dim,
             facts.qkv_bias, Init{Init::Kind::kNormal, facts.initializer_range}),
      k_proj(facts.shape.hidden_size, facts.shape.num_key_value_heads * facts.shape.head_dim,
             facts.qkv_bias, Init{Init::Kind::kNormal, facts.initializer_range}),
      v_proj(facts.shape.hidden_size, facts.shape.num_key_value_heads * facts.shape.head_dim,
             facts.qkv_bias, Init{Init::Kind::kNormal, facts.initializer_range}),
      o_proj(facts.shape.num_attention_heads * facts.shape.head_dim, facts.shape.hidden_size,
             facts.o_bias, Init{Init::Kind::kNormal, facts.initializer_range}),
      layer_(layer),
      head_dim_(facts.shape.head_dim),
      attention_(attention_of(facts, layer)) {
  register_block("q_proj", q_proj);
  register_block("k_proj", k_proj);
  register_block("v_proj", v_proj);
  register_block("o_proj", o_proj);
  if (!facts.qk_norm) return;
  q_norm = std::make_unique<RmsNorm>(head_dim_, facts.norm_eps, facts.norm_weight);
  k_norm = std::make_unique<RmsNorm>(head_dim_, facts.norm_eps, facts.norm_weight);
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
