#include <ATen/ATen.h>

#include "nn/decoder/attend.h"
#include "nn/decoder/fixed_keys.h"
#include "nn/fused.h"
#include "nn/joined_linear.h"
#include "s2s/error.h"
#include "s2s/kinds/backbone.h"
#include "s2s/nn/decoder.h"

namespace s2s {
namespace {

/// [B, T, heads * D] -> [B, T, heads, D].
at::Tensor split_heads(const at::Tensor& x, int64_t head_dim) {
  return x.view({x.size(0), x.size(1), -1, head_dim});
}

/// Returns the attention settings of a layer. Only local layers have a window.
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
  const auto [q, k, v] = project(x_BTH, info);
  AttentionSpec spec = attention_;
  if (!is_training()) spec.dropout = 0;
  const at::Tensor y_BTHD = (info.documents != nullptr ? attend_documents(q, k, v, info, spec)
                                                       : attend_cached(q, k, v, info.cache, spec))
                                .transpose(1, 2);
  return o_proj(y_BTHD.reshape({y_BTHD.size(0), y_BTHD.size(1), -1}));
}

GroupedQueryAttention::Projected GroupedQueryAttention::project(const at::Tensor& x_BTH,
                                                                const SequenceInfo& info) {
  const at::Tensor all = joined_linear(x_BTH, {&q_proj, &k_proj, &v_proj});
  const int64_t q_width = q_proj.weight.size(0), kv_width = k_proj.weight.size(0);
  if (all.defined() && !q_norm) {
    const HeadCounts heads = {q_width / head_dim_, kv_width / head_dim_};
    const auto [q, k, v] = rotate_qkv(all, info.cos_TD, info.sin_TD, heads);
    return {q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)};
  }
  std::vector<at::Tensor> parts;
  if (all.defined()) parts = split_columns(all, {q_width, kv_width, kv_width});
  const auto product = [&](size_t i, Linear& projection, RmsNorm* norm) {
    const at::Tensor heads = split_heads(parts.empty() ? projection(x_BTH) : parts[i], head_dim_);
    return norm != nullptr ? (*norm)(heads) : heads;
  };
  const at::Tensor q_BTHD = product(0, q_proj, q_norm.get());
  const at::Tensor k_BTHD = product(1, k_proj, k_norm.get());
  const auto [q, k] = rotate_qk(q_BTHD, k_BTHD, info.cos_TD, info.sin_TD);
  return {q.transpose(1, 2), k.transpose(1, 2), product(2, v_proj, nullptr).transpose(1, 2)};
}

at::Tensor GroupedQueryAttention::attend_cached(const at::Tensor& q, const at::Tensor& k,
                                                const at::Tensor& v, KvCache* cache,
                                                const AttentionSpec& spec) const {
  if (cache == nullptr) return attend(q, k, v, spec);
  FixedKeys* const fixed = cache->fixed();
  if (fixed != nullptr && q.size(2) == 1) {
    S2S_ASSERT(cache->length() < fixed->capacity(), "memory is reserved before each step");
    return attend_fixed(q, fixed->store(layer_, k, v, spec.window), spec);
  }
  const auto [keys, values] = cache->append(layer_, k, v, spec.window);
  return attend(q, keys, values, spec);
}

}  // namespace s2s
