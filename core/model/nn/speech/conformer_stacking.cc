#include "nn/speech/conformer_stacking.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nn/kernels/striding_fused.h"

namespace s2s {

namespace {

StridingShape striding_shape(const ConformerOptions& o) {
  StridingShape shape;
  shape.feat_in = o.feat_in;
  shape.channels = o.subsampling_conv_channels < 0 ? o.d_model : o.subsampling_conv_channels;
  shape.d_model = o.d_model;
  shape.num_stages = static_cast<int64_t>(std::log2(static_cast<double>(o.subsampling_factor)));
  shape.causal = o.causal_downsampling;
  shape.depthwise = o.subsampling == "dw_striding";
  return shape;
}

int64_t half_rounded_up(int64_t count) { return (count + 1) / 2; }

}  // namespace

std::unique_ptr<Subsampling> make_subsampling(const ConformerOptions& o) {
  if (o.subsampling.starts_with("stacking")) {
    return std::make_unique<StackingSubsampling>(StackingShape{
        o.feat_in, o.d_model, o.subsampling_factor, o.subsampling == "stacking_norm"});
  }
  if (o.subsampling == "vggnet") return std::make_unique<VggSubsampling>(striding_shape(o));
  return std::make_unique<StridingSubsampling>(striding_shape(o));
}

StackingSubsampling::StackingSubsampling(const StackingShape& shape)
    : shape_(shape), out_(shape.factor * shape.feat_in, shape.d_model) {
  register_block("proj_out", out_);
  if (!shape.normalized) return;
  norm_ = std::make_unique<LayerNorm>(shape.feat_in);
  register_block("pre_norm", *norm_);
}

StackingSubsampling::~StackingSubsampling() = default;

int64_t StackingSubsampling::output_frames(int64_t num_frames) const {
  return std::min(num_frames, std::max<int64_t>(1, num_frames / shape_.factor));
}

at::Tensor StackingSubsampling::output_frames(const at::Tensor& lengths_B) const {
  return at::minimum(lengths_B, at::floor_divide(lengths_B, shape_.factor).clamp_min(1));
}

double StackingSubsampling::forward_flops(int64_t num_frames) const {
  return 2 * static_cast<double>(output_frames(num_frames) * shape_.factor * shape_.feat_in) *
         static_cast<double>(shape_.d_model);
}

/// The whole stacks of x; one with zeros if there is none.
at::Tensor StackingSubsampling::stacked(const at::Tensor& x_BTF) {
  const int64_t frames = output_frames(x_BTF.size(1)), used = frames * shape_.factor;
  const int64_t missing = std::max<int64_t>(0, used - x_BTF.size(1));
  const at::Tensor padded = missing > 0 ? at::constant_pad_nd(x_BTF, {0, 0, 0, missing}) : x_BTF;
  at::Tensor x = padded.narrow(1, 0, used);
  if (norm_) x = (*norm_)(x);
  return out_(x.reshape({x.size(0), frames, shape_.factor * shape_.feat_in}));
}

at::Tensor StackingSubsampling::forward(const at::Tensor& x_BTF, const at::Tensor&) {
  return stacked(x_BTF);
}

/// Keeps the frames of a stack that is not complete.
class StackingStream final : public SubsamplingStream {
 public:
  StackingStream(StackingSubsampling& subsampling, int64_t batch_size) : subsampling_(subsampling) {
    const auto options = subsampling.weight().options().requires_grad(false);
    pending_BTF_ = at::zeros({batch_size, 0, subsampling.shape_.feat_in}, options);
  }

  at::Tensor push(const at::Tensor& x_BTF) override {
    pending_BTF_ = at::cat({pending_BTF_, x_BTF}, 1);
    const int64_t factor = subsampling_.shape_.factor;
    return take(pending_BTF_.size(1) / factor * factor);
  }

  at::Tensor finish() override { return take(is_empty_ ? pending_BTF_.size(1) : 0); }

 private:
  at::Tensor take(int64_t count) {
    if (count == 0) {
      const int64_t width = subsampling_.shape_.d_model;
      return at::zeros({pending_BTF_.size(0), 0, width}, pending_BTF_.options());
    }
    is_empty_ = false;
    const at::Tensor ready = pending_BTF_.narrow(1, 0, count);
    pending_BTF_ = pending_BTF_.narrow(1, count, pending_BTF_.size(1) - count).clone();
    return subsampling_.stacked(ready);
  }

  StackingSubsampling& subsampling_;
  at::Tensor pending_BTF_;
  bool is_empty_ = true;  // no frame was returned
};

std::unique_ptr<SubsamplingStream> StackingSubsampling::open_stream(int64_t batch_size) {
  return std::make_unique<StackingStream>(*this, batch_size);
}

VggSubsampling::VggSubsampling(const StridingShape& shape) : shape_(shape) {
  int64_t bands = shape.feat_in, channels = 1;
  for (int64_t i = 0; i < shape.num_stages; ++i) {
    for (const int64_t index : {5 * i, 5 * i + 2}) {  // of NeMo's list, which has all modules
      convolutions_.push_back(std::make_unique<ConvWeights>(
          std::vector<int64_t>{shape.channels, channels, 3, 3}, true));
      register_block("conv." + std::to_string(index), *convolutions_.back());
      channels = shape.channels;
    }
    bands = half_rounded_up(bands);
  }
  out_ = std::make_unique<Linear>(shape.channels * bands, shape.d_model);
  register_block("out", *out_);
}

VggSubsampling::~VggSubsampling() = default;

int64_t VggSubsampling::output_frames(int64_t num_frames) const {
  for (int64_t i = 0; i < shape_.num_stages; ++i) num_frames = half_rounded_up(num_frames);
  return num_frames;
}

at::Tensor VggSubsampling::output_frames(const at::Tensor& lengths_B) const {
  at::Tensor lengths = lengths_B;
  for (int64_t i = 0; i < shape_.num_stages; ++i) lengths = at::floor_divide(lengths + 1, 2);
  return lengths;
}

double VggSubsampling::forward_flops(int64_t num_frames) const {
  const auto channels = static_cast<double>(shape_.channels);
  int64_t bands = shape_.feat_in;
  double products = 0;
  for (int64_t i = 0; i < shape_.num_stages; ++i) {
    const double inputs = i == 0 ? 1 + channels : 2 * channels;
    products += static_cast<double>(num_frames * bands) * 9 * channels * inputs;
    num_frames = half_rounded_up(num_frames);
    bands = half_rounded_up(bands);
  }
  const auto width = static_cast<double>(shape_.d_model);
  return 2 * (products + static_cast<double>(num_frames * bands) * channels * width);
}

at::Tensor VggSubsampling::forward(const at::Tensor& x_BTF, const at::Tensor& lengths_B) {
  at::Tensor lengths = lengths_B;
  at::Tensor x_BTFC = masked_frames(x_BTF, lengths).unsqueeze(-1);
  for (size_t i = 0; i < convolutions_.size(); ++i) {
    const ConvWeights& conv = *convolutions_[i];
    const at::Tensor wide =
        at::conv2d(x_BTFC.permute({0, 3, 1, 2}), conv.weight, conv.bias, {1, 1}, {1, 1});
    x_BTFC = masked_relu(wide.permute({0, 2, 3, 1}).contiguous(), lengths);
    if (i % 2 == 0) continue;
    // What lies beyond a length is 0 here, and so is the least value.
    const at::Tensor thin = at::max_pool2d(x_BTFC.permute({0, 3, 1, 2}), {2, 2}, {2, 2}, {0, 0},
                                           {1, 1}, /*ceil_mode=*/true);
    x_BTFC = thin.permute({0, 2, 3, 1});
    lengths = at::floor_divide(lengths + 1, 2);
  }
  return (*out_)(x_BTFC.permute({0, 1, 3, 2}).flatten(2));
}

}  // namespace s2s
