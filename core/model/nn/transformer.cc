#include "s2s/nn/transformer.h"

#include <ATen/ATen.h>

#include <optional>

#include "s2s/error.h"

namespace s2s {

at::Tensor to_heads(const at::Tensor& x, int64_t head_dim) {
  return x.unflatten(-1, {-1, head_dim}).transpose(1, 2);
}

at::Tensor from_heads(const at::Tensor& x_BNTD) { return x_BNTD.transpose(1, 2).flatten(2); }

at::Tensor rotate_halves(const at::Tensor& x_BNTD, const at::Tensor& cos_TD,
                         const at::Tensor& sin_TD) {
  const std::vector<at::Tensor> halves = x_BNTD.chunk(2, -1);
  const at::Tensor turned = at::cat({-halves[1], halves[0]}, -1);
  const at::ScalarType type = x_BNTD.scalar_type();
  return x_BNTD * cos_TD.to(type) + turned * sin_TD.to(type);
}

at::Tensor attend_seen(const at::Tensor& q, const std::vector<SeenKeys>& seen,
                       const AttendTo& attend) {
  if (seen.size() == 1) return attend(q, seen.front());
  std::vector<at::Tensor> rows;
  for (const SeenKeys& keys : seen) {
    rows.push_back(attend(q.narrow(0, static_cast<int64_t>(rows.size()), 1), keys));
  }
  return at::cat(rows);
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionSpec& spec)
    : spec_(spec),
      query_(spec.width, spec.width),
      key_(spec.seen_width == 0 ? spec.width : spec.seen_width, spec.width, spec.has_key_bias),
      value_(spec.seen_width == 0 ? spec.width : spec.seen_width, spec.width),
      out_(spec.width, spec.width) {
  S2S_ASSERT(spec.num_heads > 0 && spec.width % spec.num_heads == 0, "heads divide the width");
  register_block(spec.query, query_);
  register_block(spec.key, key_);
  register_block(spec.value, value_);
  register_block(spec.out, out_);
}

MultiHeadAttention::~MultiHeadAttention() = default;

at::Tensor MultiHeadAttention::operator()(const at::Tensor& x_BTH, const at::Tensor& seen_BUH,
                                          const at::Tensor& mask) {
  const int64_t head_dim = spec_.width / spec_.num_heads;
  const std::optional<at::Tensor> given = mask.defined() ? std::optional(mask) : std::nullopt;
  const at::Tensor y = at::scaled_dot_product_attention(
      to_heads(query_(x_BTH), head_dim), to_heads(key_(seen_BUH), head_dim),
      to_heads(value_(seen_BUH), head_dim), given, is_training() ? spec_.dropout : 0);
  return out_(from_heads(y));
}

namespace {

at::Tensor activated(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kSilu:
      return at::silu(x);
  }
  return x;
}

}  // namespace

EncoderLayer::EncoderLayer(const EncoderLayerSpec& spec)
    : spec_(spec),
      attention_(spec.attention),
      attention_norm_(spec.attention.width, spec.norm_epsilon),
      inner_(spec.attention.width, spec.inner_width),
      outer_(spec.inner_width, spec.attention.width),
      final_norm_(spec.attention.width, spec.norm_epsilon) {
  register_block(spec.attention_name, attention_);
  register_block(spec.attention_norm, attention_norm_);
  register_block(spec.inner, inner_);
  register_block(spec.outer, outer_);
  register_block(spec.final_norm, final_norm_);
}

EncoderLayer::~EncoderLayer() = default;

at::Tensor EncoderLayer::feed_forward(const at::Tensor& x_BTH) {
  const at::Tensor inner = activated(inner_(x_BTH), spec_.activation);
  return at::dropout(outer_(at::dropout(inner, spec_.inner_dropout, is_training())), spec_.dropout,
                     is_training());
}

at::Tensor EncoderLayer::forward(const at::Tensor& x_BTH, const at::Tensor& mask) {
  const auto attend = [&](const at::Tensor& x) {
    return at::dropout(attention_(x, x, mask), spec_.dropout, is_training());
  };
  if (spec_.norm_first) {
    const at::Tensor y = x_BTH + attend(attention_norm_(x_BTH));
    return y + feed_forward(final_norm_(y));
  }
  const at::Tensor y = attention_norm_(x_BTH + attend(x_BTH));
  return final_norm_(y + feed_forward(y));
}

}  // namespace s2s
