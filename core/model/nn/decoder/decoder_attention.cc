#include <ATen/ATen.h>

#include "nn/decoder/attend.h"
#include "nn/decoder/fixed_keys.h"
#include "nn/fused.h"
#include "nn/joined_linear.h"
#include "s2s/error.h"
#include "s2s/kinds/backbone.h"
#include "s2s/nn/decoder.h"
#include "s2s/nn/transformer.h"

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

GroupedQueryAttention::GroupedQueryAttention(const DecoderSpec& spec, int64_t layer,
                                             std::shared_ptr<RotaryTables> rotary)
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
      attention_(attention_of(spec, layer)),
      rotary_(std::move(rotary)) {
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
  return o_proj(from_heads(info.documents != nullptr ? attend_documents(q, k, v, info, spec)
                                                     : attend_kept(q, k, v, info, spec)));
}

GroupedQueryAttention::Projected GroupedQueryAttention::project(const at::Tensor& x_BTH,
                                                                const SequenceInfo& info) {
  const auto& [cos, sin] = rotary_->of(info.positions, x_BTH.size(1));
  if (cos.size(0) == x_BTH.size(1)) return project_at(x_BTH, cos, sin);
  // Rows have positions of their own: to the projections they are one long row.
  const int64_t rows = x_BTH.size(0);
  const Projected flat = project_at(x_BTH.reshape({1, -1, x_BTH.size(2)}), cos, sin);
  const auto by_row = [&](const at::Tensor& heads_1HND) {
    return heads_1HND.squeeze(0).unflatten(1, {rows, -1}).transpose(0, 1);
  };
  return {by_row(flat.q), by_row(flat.k), by_row(flat.v)};
}

GroupedQueryAttention::Projected GroupedQueryAttention::project_at(const at::Tensor& x_BTH,
                                                                   const at::Tensor& cos_TD,
                                                                   const at::Tensor& sin_TD) {
  const at::Tensor all = joined_linear(x_BTH, {&q_proj, &k_proj, &v_proj});
  const int64_t q_width = q_proj.weight.size(0), kv_width = k_proj.weight.size(0);
  if (all.defined() && !q_norm) {
    const HeadCounts heads = {q_width / head_dim_, kv_width / head_dim_};
    const auto [q, k, v] = rotate_qkv(all, cos_TD, sin_TD, heads);
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
  const auto [q, k] = rotate_qk(q_BTHD, k_BTHD, cos_TD, sin_TD);
  return {q.transpose(1, 2), k.transpose(1, 2), product(2, v_proj, nullptr).transpose(1, 2)};
}

at::Tensor GroupedQueryAttention::attend_kept(const at::Tensor& q, const at::Tensor& k,
                                              const at::Tensor& v, const SequenceInfo& info,
                                              const AttentionSpec& spec) const {
  if (info.state == nullptr) return attend(q, k, v, spec);
  FixedKeys* const fixed = info.state->fixed();
  if (fixed != nullptr && q.size(2) == 1) {
    return attend_fixed(q, fixed->store(layer_, k, v, spec.window), spec);
  }
  const std::vector<SeenKeys> seen = info.state->append(layer_, k, v, spec.window, info.rows);
  return attend_seen(q, seen, [&](const at::Tensor& own, const SeenKeys& keys) {
    return attend(own, keys.k, keys.v, spec);
  });
}

}  // namespace s2s
