#include <ATen/ATen.h>

#include <array>

#include "nn/kernels/affine.h"
#include "nn/speech/conformer_layer.h"

namespace s2s {

/// Batch or layer normalization; both are stored under the name batch_norm.
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

  /// In training, batch statistics count padding frames too, as NeMo's do.
  at::Tensor forward(const at::Tensor& x_BTC) {
    if (!over_batch_) return at::layer_norm(x_BTC, {channels_}, weight_, bias_);
    if (is_training()) count_.add_(1);
    const at::Tensor rows = x_BTC.reshape({-1, channels_});
    return at::batch_norm(rows, weight_, bias_, mean_, variance_, is_training(), 0.1, 1e-5, false)
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

}  // namespace

at::Tensor ConformerConvolution::gated(const at::Tensor& x_BTH) {
  return at::glu(pointwise(x_BTH, pointwise1_), -1);
}

at::Tensor ConformerConvolution::finish(const at::Tensor& padded_BTH) {
  // Seen as an image of height one whose channels lie innermost, where the kernel is fastest.
  const at::Tensor image = padded_BTH.transpose(1, 2).unsqueeze(2);
  const auto bias = depthwise_.bias.defined() ? std::optional(depthwise_.bias) : std::nullopt;
  constexpr std::array<int64_t, 2> kOne{1, 1}, kNone{0, 0};
  const at::Tensor y = at::conv2d(image, depthwise_.weight.unsqueeze(2), bias, kOne,
                                  at::IntArrayRef(kNone), kOne, padded_BTH.size(2));
  return pointwise(at::silu(norm_->forward(y.squeeze(2).transpose(1, 2))), pointwise2_);
}

at::Tensor ConformerConvolution::forward(const at::Tensor& x_BTH, const at::Tensor& padding_BT1) {
  at::Tensor x = gated(x_BTH);
  if (padding_BT1.defined()) x = x.masked_fill(padding_BT1, 0.0);
  return finish(at::constant_pad_nd(x, {0, 0, context_[0], context_[1]}));
}

at::Tensor ConformerConvolution::stream(const at::Tensor& x_BTH, LayerCache& cache) {
  const at::Tensor x = at::cat({cache.conv_BTH, gated(x_BTH)}, 1);
  cache.conv_BTH = x.narrow(1, x.size(1) - context_[0], context_[0]);
  return finish(x);
}

}  // namespace s2s
