#include "nn/speech/conformer_layer.h"

#include <ATen/ATen.h>

#include "nn/kernels/affine.h"
#include "nn/kernels/depthwise_conv.h"
#include "nn/kernels/rel_attention.h"

namespace s2s {

/// Batch or layer normalization. Both are stored under the name batch_norm.
class ConformerConvolution::Norm : public Block {
 public:
  Norm(int64_t channels, bool over_batch) : channels_(channels), over_batch_(over_batch) {
    register_parameter("weight", weight_, {channels}, {Init::Kind::kOnes, 1});
    register_parameter("bias", bias_, {channels}, {Init::Kind::kZeros, 0});
    if (!over_batch) return;
    register_buffer("running_mean", mean_);
    register_buffer("running_var", variance_);
    register_buffer("num_batches_tracked", count_);
  }

  /// In training, batch statistics include padding frames, as in NeMo.
  at::Tensor forward(const at::Tensor& x_BTC) {
    if (!over_batch_) return at::layer_norm(x_BTC, {channels_}, weight_, bias_);
    if (is_training()) count_.add_(1);
    const at::Tensor rows = x_BTC.reshape({-1, channels_});
    const auto type = mean_.scalar_type();  // batch_norm wants one type for these four
    return at::batch_norm(rows, weight_.to(type), bias_.to(type), mean_, variance_, is_training(),
                          0.1, 1e-5, false)
        .view(x_BTC.sizes());
  }

 protected:
  void reset_buffers() override {
    if (!over_batch_) return;
    mean_ = at::zeros({channels_}, at::kFloat);
    variance_ = at::ones({channels_}, at::kFloat);
    count_ = at::zeros({}, at::kLong);
  }

 private:
  int64_t channels_;
  bool over_batch_;
  at::Tensor weight_, bias_, mean_, variance_, count_;
};

ConformerConvolution::ConformerConvolution(const ConformerOptions& o,
                                           ConformerOptions::Context context)
    : pointwise1_({2 * o.d_model, o.d_model, 1}, o.use_bias),
      depthwise_({o.d_model, 1, o.conv_kernel_size}, o.use_bias),
      pointwise2_({o.d_model, o.d_model, 1}, o.use_bias),
      norm_(std::make_unique<Norm>(o.d_model, o.conv_norm_type == "batch_norm")),
      context_(context) {
  register_block("pointwise_conv1", pointwise1_);
  register_block("depthwise_conv", depthwise_);
  register_block("batch_norm", *norm_);
  register_block("pointwise_conv2", pointwise2_);
}

ConformerConvolution::~ConformerConvolution() = default;

namespace {

/// A 1 x 1 convolution on the last dim.
at::Tensor pointwise(const at::Tensor& x, const ConvWeights& conv) {
  return affine(x, conv.weight.squeeze(-1), conv.bias);
}

/// Frames after those of a cache, in the dtype of the new ones: under autocast an empty cache is
/// float32.
at::Tensor after(const at::Tensor& cached_BUH, const at::Tensor& new_BTH) {
  return at::cat({cached_BUH.to(new_BTH.scalar_type()), new_BTH}, 1);
}

}  // namespace

at::Tensor ConformerConvolution::gated(const at::Tensor& x_BTH) {
  return at::glu(pointwise(x_BTH, pointwise1_), -1);
}

at::Tensor ConformerConvolution::finish(const at::Tensor& padded_BTH) {
  const at::Tensor y = depthwise_conv(padded_BTH.transpose(1, 2).unsqueeze(2),
                                      depthwise_.weight.unsqueeze(2), depthwise_.bias, {1, 1});
  return pointwise(at::silu(norm_->forward(y.squeeze(2).transpose(1, 2))), pointwise2_);
}

at::Tensor ConformerConvolution::forward(const at::Tensor& x_BTH, const at::Tensor& padding_BT1) {
  at::Tensor x = gated(x_BTH);
  if (padding_BT1.defined()) x = x.masked_fill(padding_BT1, 0.0);
  return finish(at::constant_pad_nd(x, {0, 0, context_[0], context_[1]}));
}

at::Tensor ConformerConvolution::stream(const at::Tensor& x_BTH, LayerCache& cache) {
  const at::Tensor x = after(cache.conv_BTH, gated(x_BTH));
  cache.conv_BTH = x.narrow(1, x.size(1) - context_[0], context_[0]);
  return finish(x);
}

ConformerFeedForward::ConformerFeedForward(int64_t width, int64_t inner, bool with_bias,
                                           double dropout)
    : linear1_(width, inner, with_bias), linear2_(inner, width, with_bias), dropout_(dropout) {
  register_block("linear1", linear1_);
  register_block("linear2", linear2_);
}

ConformerFeedForward::~ConformerFeedForward() = default;

at::Tensor ConformerFeedForward::forward(const at::Tensor& x_BTH) {
  const at::Tensor inner = at::silu(linear1_(x_BTH));
  return linear2_(dropout_ > 0 ? at::dropout(inner, dropout_, is_training()) : inner);
}

ConformerAttention::ConformerAttention(const ConformerOptions& o, PositionBiases* tied)
    : linear_q_(o.d_model, o.d_model, o.use_bias),
      linear_k_(o.d_model, o.d_model, o.use_bias),
      linear_v_(o.d_model, o.d_model, o.use_bias),
      linear_out_(o.d_model, o.d_model, o.use_bias),
      heads_(o.n_heads),
      global_count_(o.global_tokens),
      global_spacing_(o.global_tokens_spacing),
      biases_(tied ? *tied : own_),
      dropout_(o.dropout_att) {
  register_block("linear_q", linear_q_);
  register_block("linear_k", linear_k_);
  register_block("linear_v", linear_v_);
  register_block("linear_out", linear_out_);
  if (o.self_attention_model == "abs_pos") return;
  const auto add = [&](const char* name, std::unique_ptr<Linear>& linear, bool with_bias) {
    linear = std::make_unique<Linear>(o.d_model, o.d_model, with_bias);
    register_block(name, *linear);
  };
  add("linear_pos", linear_pos_, false);
  const std::vector<int64_t> sizes{o.n_heads, o.d_model / o.n_heads};
  register_parameter("pos_bias_u", biases_.u_HD, sizes, {Init::Kind::kZeros, 0});
  register_parameter("pos_bias_v", biases_.v_HD, sizes, {Init::Kind::kZeros, 0});
  if (o.self_attention_model != "rel_pos_local_attn") return;
  const auto [left, right] = o.attention_contexts("").front();
  window_ = {left, right};
  if (!o.global_attn_separate) return;
  add("global_q", global_q_, o.use_bias);
  add("global_k", global_k_, o.use_bias);
  add("global_v", global_v_, o.use_bias);
}

ConformerAttention::~ConformerAttention() = default;

at::Tensor ConformerAttention::to_all(const at::Tensor& x_BTH, const FrameContext& context) {
  RelAttentionInput input{
      linear_q_(x_BTH), linear_k_(x_BTH), linear_v_(x_BTH), project_positions(context.positions_PH),
      biases_.u_HD,     biases_.v_HD,     context.mask};
  input.dropout = is_training() ? dropout_ : 0;
  return rel_attention(input);
}

at::Tensor ConformerAttention::to_window(const at::Tensor& x_BTH, const FrameContext& context) {
  LocalAttentionInput input{*window_,
                            linear_q_(x_BTH),
                            linear_k_(x_BTH),
                            linear_v_(x_BTH),
                            project_positions(context.positions_PH),
                            biases_.u_HD,
                            biases_.v_HD,
                            context.mask,
                            context.padding_BT1};
  input.dropout = is_training() ? dropout_ : 0;
  if (global_count_ > 0) {
    const auto own = [&](std::unique_ptr<Linear>& linear, const at::Tensor& shared) {
      return linear ? (*linear)(x_BTH) : shared;
    };
    input.global = {global_count_, global_spacing_, own(global_q_, input.q_BTM),
                    own(global_k_, input.k_BTM), own(global_v_, input.v_BTM)};
  }
  return local_attention(input);
}

at::Tensor ConformerAttention::without_positions(const at::Tensor& x_BTH,
                                                 const FrameContext& context) {
  const auto split = [&](const at::Tensor& x) {
    return x.unflatten(-1, {heads_, x.size(-1) / heads_}).transpose(1, 2);
  };
  const at::Tensor q = split(linear_q_(x_BTH));
  std::optional<at::Tensor> mask;
  if (context.mask.defined()) mask = context.mask.unsqueeze(1).to(q.scalar_type());
  const at::Tensor y = at::scaled_dot_product_attention(
      q, split(linear_k_(x_BTH)), split(linear_v_(x_BTH)), mask, is_training() ? dropout_ : 0);
  return y.transpose(1, 2).flatten(-2);
}

at::Tensor ConformerAttention::forward(const at::Tensor& x_BTH, const FrameContext& context) {
  if (window_) return linear_out_(to_window(x_BTH, context));
  at::Tensor y = linear_pos_ ? to_all(x_BTH, context) : without_positions(x_BTH, context);
  // A padding frame sees no other frames, so its output is zero.
  if (context.padding_BT1.defined()) y = y.masked_fill(context.padding_BT1, 0.0);
  return linear_out_(y);
}

at::Tensor ConformerAttention::stream(const at::Tensor& x_BTH, const at::Tensor& projected_PH,
                                      int64_t left_frames, LayerCache& cache) {
  const at::Tensor k = after(cache.k_BUH, linear_k_(x_BTH));
  const at::Tensor v = after(cache.v_BUH, linear_v_(x_BTH));
  const int64_t kept = std::min(left_frames, k.size(1));
  cache.k_BUH = k.narrow(1, k.size(1) - kept, kept);
  cache.v_BUH = v.narrow(1, v.size(1) - kept, kept);
  if (cache.input_BUH.defined()) {
    const at::Tensor inputs = after(cache.input_BUH, x_BTH);
    cache.input_BUH = inputs.narrow(1, inputs.size(1) - kept, kept);
  }
  return linear_out_(
      rel_attention({linear_q_(x_BTH), k, v, projected_PH, biases_.u_HD, biases_.v_HD, {}}));
}

ConformerLayer::ConformerLayer(const ConformerOptions& o, ConformerOptions::Context conv_context,
                               PositionBiases* tied)
    : norm_feed_forward1_(o.d_model),
      norm_self_att_(o.d_model),
      norm_conv_(o.d_model),
      norm_feed_forward2_(o.d_model),
      norm_out_(o.d_model),
      feed_forward1_(o.d_model, o.d_model * o.ff_expansion_factor, o.use_bias, o.dropout),
      feed_forward2_(o.d_model, o.d_model * o.ff_expansion_factor, o.use_bias, o.dropout),
      self_attn_(o, tied),
      conv_(o, conv_context),
      dropout_(o.dropout),
      width_(o.d_model),
      conv_left_(conv_context[0]) {
  register_block("norm_feed_forward1", norm_feed_forward1_);
  register_block("feed_forward1", feed_forward1_);
  register_block("norm_self_att", norm_self_att_);
  register_block("self_attn", self_attn_);
  register_block("norm_conv", norm_conv_);
  register_block("conv", conv_);
  register_block("norm_feed_forward2", norm_feed_forward2_);
  register_block("feed_forward2", feed_forward2_);
  register_block("norm_out", norm_out_);
}

ConformerLayer::~ConformerLayer() = default;

at::Tensor ConformerLayer::forward(const at::Tensor& x_BTH, const FrameContext& context) {
  const auto dropped = [&](const at::Tensor& y) {
    return dropout_ > 0 ? at::dropout(y, dropout_, is_training()) : y;
  };
  at::Tensor x = at::add(x_BTH, dropped(feed_forward1_.forward(norm_feed_forward1_(x_BTH))), 0.5);
  x = x + dropped(self_attn_.forward(norm_self_att_(x), context));
  x = x + dropped(conv_.forward(norm_conv_(x), context.padding_BT1));
  x = at::add(x, dropped(feed_forward2_.forward(norm_feed_forward2_(x))), 0.5);
  return norm_out_(x);
}

LayerCache ConformerLayer::empty_cache(int64_t batch_size, const at::Tensor& like) const {
  const at::Tensor none = at::zeros({batch_size, 0, width_}, like.options());
  return {none, none, at::zeros({batch_size, conv_left_, width_}, like.options()), {}};
}

at::Tensor ConformerLayer::stream(const at::Tensor& x_BTH, const at::Tensor& projected_PH,
                                  int64_t left_frames, LayerCache& cache) {
  at::Tensor x = at::add(x_BTH, feed_forward1_.forward(norm_feed_forward1_(x_BTH)), 0.5);
  x = x + self_attn_.stream(norm_self_att_(x), projected_PH, left_frames, cache);
  x = x + conv_.stream(norm_conv_(x), cache);
  x = at::add(x, feed_forward2_.forward(norm_feed_forward2_(x)), 0.5);
  return norm_out_(x);
}

}  // namespace s2s
