#include "nn/speech/conformer_subsampling.h"

#include <ATen/ATen.h>

#include <cmath>

#include "nn/kernels/affine.h"
#include "nn/kernels/depthwise_conv.h"
#include "nn/kernels/striding_fused.h"

namespace s2s {

ConvWeights::ConvWeights(std::vector<int64_t> sizes, bool with_bias) {
  int64_t fan_in = 1;
  for (size_t i = 1; i < sizes.size(); ++i) fan_in *= sizes[i];
  const Init init{Init::Kind::kUniform, 1.0 / std::sqrt(static_cast<double>(fan_in))};
  register_parameter("weight", weight, sizes, init);
  if (with_bias) register_parameter("bias", bias, {sizes[0]}, init);
}

ConvWeights::~ConvWeights() = default;

SubsamplingStream::~SubsamplingStream() = default;

Subsampling::~Subsampling() = default;

StridingSubsampling::StridingSubsampling(const StridingShape& shape) : shape_(shape) {
  const int64_t channels = shape.channels;
  const int64_t modules = shape.depthwise ? 3 : 2;  // of a stage, in NeMo's list
  int64_t frequencies = shape.feat_in;
  for (int64_t i = 0; i < shape.num_stages; ++i) {
    frequencies = thinned(frequencies);
    Stage stage;
    const int64_t group = i == 0 || shape.depthwise ? 1 : channels;
    stage.strided =
        std::make_unique<ConvWeights>(std::vector<int64_t>{channels, group, 3, 3}, true);
    // NeMo's module list has a ReLU after each stage, which takes an index.
    const int64_t index = i == 0 ? 0 : modules * i - (shape.depthwise ? 1 : 0);
    register_block("conv." + std::to_string(index), *stage.strided);
    if (i > 0 && shape.depthwise) {
      stage.pointwise =
          std::make_unique<ConvWeights>(std::vector<int64_t>{channels, channels, 1, 1}, true);
      register_block("conv." + std::to_string(index + 1), *stage.pointwise);
    }
    stages_.push_back(std::move(stage));
  }
  out_ = std::make_unique<Linear>(channels * frequencies, shape.d_model);
  register_block("out", *out_);
}

StridingSubsampling::~StridingSubsampling() = default;

int64_t StridingSubsampling::thinned(int64_t frames) const {
  return (frames + padding().left + padding().right - 1) / 2;
}

at::Tensor StridingSubsampling::thinned(const at::Tensor& lengths_B) const {
  return at::floor_divide(lengths_B + (padding().left + padding().right - 1), 2);
}

int64_t StridingSubsampling::output_frames(int64_t num_frames) const {
  for (int64_t i = 0; i < shape_.num_stages; ++i) num_frames = thinned(num_frames);
  return num_frames;
}

double StridingSubsampling::forward_flops(int64_t num_frames) const {
  const auto channels = static_cast<double>(shape_.channels);
  int64_t bands = shape_.feat_in;
  double products = 0;
  for (size_t i = 0; i < stages_.size(); ++i) {
    num_frames = thinned(num_frames);
    bands = thinned(bands);
    const double later = shape_.depthwise ? (9 + channels) * channels : 9 * channels * channels;
    const double of_place = i == 0 ? 9 * channels : later;
    products += static_cast<double>(num_frames * bands) * of_place;
  }
  const auto width = static_cast<double>(shape_.d_model);
  return 2 * (products + static_cast<double>(num_frames * bands) * channels * width);
}

at::Tensor StridingSubsampling::output_frames(const at::Tensor& lengths_B) const {
  at::Tensor lengths = lengths_B;
  for (int64_t i = 0; i < shape_.num_stages; ++i) lengths = thinned(lengths);
  return lengths;
}

at::Tensor StridingSubsampling::first_stage(const at::Tensor& x_BTF, Padding time) {
  const ConvWeights& conv = *stages_[0].strided;
  const Padding band = padding();
  const at::Tensor padded =
      at::constant_pad_nd(x_BTF, {band.left, band.right, time.left, time.right});
  const at::Tensor windows = padded.unfold(1, 3, 2).unfold(2, 3, 2);
  const at::Tensor rows =
      affine(windows.reshape({-1, 9}), conv.weight.view({shape_.channels, 9}), conv.bias);
  return rows.view({x_BTF.size(0), windows.size(1), windows.size(2), shape_.channels});
}

at::Tensor StridingSubsampling::convolve(size_t stage, const at::Tensor& x_BTFC, Padding time) {
  const ConvWeights& strided = *stages_[stage].strided;
  const Padding band = padding();
  const at::Tensor x_BCTF = x_BTFC.permute({0, 3, 1, 2});
  // Padding both sides by the left amount adds a frame that is cut off, but saves a copy.
  const at::Tensor wide =
      shape_.depthwise
          ? depthwise_conv(x_BCTF, strided.weight, strided.bias, {2, 2}, {time.left, band.left})
          : at::conv2d(x_BCTF, strided.weight, strided.bias, {2, 2}, {time.left, band.left});
  const int64_t frames = (x_BTFC.size(1) + time.left + time.right - 3) / 2 + 1;
  const int64_t bands = thinned(x_BTFC.size(2));
  const at::Tensor thin = wide.permute({0, 2, 3, 1}).narrow(1, 0, frames).narrow(2, 0, bands);
  return shape_.depthwise ? mix_channels(stage, thin) : thin.contiguous();
}

at::Tensor StridingSubsampling::mix_channels(size_t stage, const at::Tensor& x_BTFC) {
  const ConvWeights& pointwise = *stages_[stage].pointwise;
  return affine(x_BTFC, pointwise.weight.view({shape_.channels, shape_.channels}), pointwise.bias);
}

at::Tensor StridingSubsampling::project(const at::Tensor& x_BTFC) {
  // NeMo flattens channels first. Permuting the weight is cheaper than permuting activations.
  const int64_t bands = x_BTFC.size(2), channels = shape_.channels;
  const at::Tensor weight = out_->weight.view({shape_.d_model, channels, bands}).transpose(1, 2);
  return affine(x_BTFC.flatten(2), weight.reshape({shape_.d_model, -1}), out_->bias);
}

bool StridingSubsampling::is_fused(const at::Tensor& x_BTF, const at::Tensor& lengths_B) const {
  return shape_.depthwise && stages_.size() > 1 && !x_BTF.requires_grad() && lengths_B.is_cpu() &&
         is_striding_fused(x_BTF, stages_[0].strided->weight);
}

/// Gives the same results, with each ReLU and the following depth-wise convolution in one pass.
at::Tensor StridingSubsampling::fused_stages(const at::Tensor& x_BTF, const at::Tensor& lengths_B) {
  const auto weights = [&](size_t stage) {
    return StridingWeights{stages_[stage].strided->weight, stages_[stage].strided->bias};
  };
  const int64_t left = padding().left;
  at::Tensor lengths = thinned(lengths_B);
  at::Tensor x = first_two_convolutions(masked_frames(x_BTF, lengths_B), lengths, weights(0),
                                        weights(1), left);
  for (size_t i = 1;; ++i) {
    x = mix_channels(i, x);
    lengths = thinned(lengths);
    if (i + 1 == stages_.size()) return masked_relu(x, lengths);
    x = relu_depthwise(x, lengths, weights(i + 1), left);
  }
}

at::Tensor StridingSubsampling::forward(const at::Tensor& x_BTF, const at::Tensor& lengths_B) {
  if (is_fused(x_BTF, lengths_B)) return project(fused_stages(x_BTF, lengths_B));
  at::Tensor lengths = lengths_B;
  at::Tensor x = masked_frames(x_BTF, lengths);
  for (size_t i = 0; i < stages_.size(); ++i) {
    x = i == 0 ? first_stage(x, padding()) : convolve(i, x, padding());
    lengths = thinned(lengths);
    x = masked_relu(x, lengths);
  }
  return project(x);
}

std::unique_ptr<SubsamplingStream> StridingSubsampling::open_stream(int64_t batch_size) {
  if (!shape_.causal) return nullptr;
  return std::make_unique<StridingStream>(*this, batch_size);
}

StridingStream::StridingStream(StridingSubsampling& subsampling, int64_t batch_size)
    : subsampling_(subsampling) {
  const StridingShape& shape = subsampling.shape_;
  const auto options = subsampling.out_->weight.options().requires_grad(false);
  int64_t bands = shape.feat_in, channels = 1;
  for (int64_t i = 0; i < shape.num_stages; ++i) {
    pending_.push_back(at::zeros({batch_size, 2, bands, channels}, options));
    bands = subsampling.thinned(bands);
    channels = shape.channels;
  }
}

at::Tensor StridingStream::push(const at::Tensor& x_BTF) { return run(x_BTF, false); }

at::Tensor StridingStream::finish() {
  const at::Tensor& first = pending_[0];
  return run(at::zeros({first.size(0), 0, first.size(2)}, first.options()), true);
}

at::Tensor StridingStream::run(const at::Tensor& x_BTF, bool last) {
  const StridingShape& shape = subsampling_.shape_;
  at::Tensor x = x_BTF.unsqueeze(-1);
  for (size_t i = 0; i < pending_.size(); ++i) {
    at::Tensor& pending = pending_[i];
    pending = at::cat({pending, x}, 1);
    if (last) pending = at::constant_pad_nd(pending, {0, 0, 0, 0, 0, 1});
    const int64_t frames = (pending.size(1) - 1) / 2;
    if (frames == 0) {
      x = at::zeros({x.size(0), 0, subsampling_.thinned(pending.size(2)), shape.channels},
                    x.options());
      continue;
    }
    const at::Tensor ready = pending.narrow(1, 0, 2 * frames + 1);
    x = i == 0 ? subsampling_.first_stage(ready.squeeze(-1), {0, 0})
               : subsampling_.convolve(i, ready, {0, 0});
    x = x.relu_();
    pending = pending.narrow(1, 2 * frames, pending.size(1) - 2 * frames).clone();
  }
  if (x.size(1) == 0) return at::zeros({x.size(0), 0, shape.d_model}, x.options());
  return subsampling_.project(x);
}

}  // namespace s2s
