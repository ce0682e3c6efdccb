#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "nn/fused.h"
#include "nn/one_query.h"
#include "nn/parallel_rows.h"
#include "s2s/decoder.h"

namespace s2s {
namespace {

/// [B, T, heads * D] -> [B, T, heads, D].
at::Tensor split_heads(const at::Tensor& x, int64_t head_dim) {
  return x.view({x.size(0), x.size(1), -1, head_dim});
}

/// Key/value heads [B, kv, T, D] repeated for every query head that shares them.
at::Tensor repeat_heads(const at::Tensor& x, int64_t times) {
  if (times == 1) return x;
  return x.unsqueeze(2)
      .expand({x.size(0), x.size(1), times, x.size(2), x.size(3)})
      .reshape({x.size(0), x.size(1) * times, x.size(2), x.size(3)});
}

/// Keys or values as `rows::OneQuery` takes them: positions and numbers contiguous.
bool is_cache_like(const at::Tensor& x, const at::Tensor& like) {
  return x.is_cpu() && x.scalar_type() == like.scalar_type() && x.stride(3) == 1 &&
         x.stride(2) == x.size(3) && x.strides().equals(like.strides());
}

template <class T>
at::Tensor attend_one_of(const at::Tensor& q_BH1D, const at::Tensor& k, const at::Tensor& v) {
  const at::Tensor q = q_BH1D.contiguous();
  const at::Tensor y = at::empty_like(q);
  const int64_t dim = q.size(3);
  const rows::OneQuery<T> job{q.const_data_ptr<T>(),
                              k.const_data_ptr<T>(),
                              v.const_data_ptr<T>(),
                              y.mutable_data_ptr<T>(),
                              k.size(1),
                              q.size(1) / k.size(1),
                              k.size(2),
                              dim,
                              k.stride(0),
                              k.stride(1),
                              static_cast<float>(1 / std::sqrt(static_cast<double>(dim)))};
  parallel_rows(q.size(0) * k.size(1), 4,
                [&](int64_t begin, int64_t end) { rows::run(job, begin, end); });
  return y;
}

/// One new position sees everything, so the query heads that share a key/value head can stand in
/// for a row of positions: nothing is repeated.
at::Tensor attend_one(const at::Tensor& q_BH1D, const at::Tensor& k, const at::Tensor& v) {
  const int64_t dim = q_BH1D.size(3);
  const at::ScalarType type = q_BH1D.scalar_type();
  if (is_cache_like(k, v) && is_cache_like(v, k) && k.scalar_type() == type &&
      dim <= rows::kMostDim) {
    if (type == at::kFloat && dim % rows::kDimStep<float> == 0) {
      return attend_one_of<float>(q_BH1D, k, v);
    }
    if (type == at::kBFloat16 && dim % rows::kDimStep<at::BFloat16> == 0) {
      return attend_one_of<at::BFloat16>(q_BH1D, k, v);
    }
  }
  const at::Tensor grouped =
      q_BH1D.reshape({q_BH1D.size(0), k.size(1), q_BH1D.size(1) / k.size(1), dim});
  return at::scaled_dot_product_attention(grouped, k, v).reshape_as(q_BH1D);
}

/// q [B, heads, T, D] at the end of k, v [B, kv, S, D]  ->  [B, heads, T, D].
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const int64_t num_new = q.size(2);
  const int64_t num_all = k.size(2);
  const bool wants_gradient =
      at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  if (num_new == 1 && !wants_gradient) return attend_one(q, k, v);
  const int64_t shared = q.size(1) / k.size(1);
  const at::Tensor keys = repeat_heads(k, shared);
  const at::Tensor values = repeat_heads(v, shared);
  if (num_new == num_all) {
    return at::scaled_dot_product_attention(q, keys, values, {}, 0.0, /*is_causal=*/true);
  }
  const at::Tensor visible =
      at::ones({num_new, num_all}, q.options().dtype(at::kBool)).tril(num_all - num_new);
  return at::scaled_dot_product_attention(q, keys, values, visible);
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
      head_dim_(facts.shape.head_dim) {
  register_block("q_proj", q_proj);
  register_block("k_proj", k_proj);
  register_block("v_proj", v_proj);
  register_block("o_proj", o_proj);
}

GroupedQueryAttention::~GroupedQueryAttention() = default;

at::Tensor GroupedQueryAttention::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  const at::Tensor q =
      rotate(split_heads(q_proj(x_BTH), head_dim_), info.cos_TD, info.sin_TD).transpose(1, 2);
  at::Tensor k =
      rotate(split_heads(k_proj(x_BTH), head_dim_), info.cos_TD, info.sin_TD).transpose(1, 2);
  at::Tensor v = split_heads(v_proj(x_BTH), head_dim_).transpose(1, 2);
  if (info.cache != nullptr) std::tie(k, v) = info.cache->append(layer_, k, v);
  const at::Tensor y_BTHD = attend(q, k, v).transpose(1, 2);
  return o_proj(y_BTHD.reshape({y_BTHD.size(0), y_BTHD.size(1), -1}));
}

}  // namespace s2s
