#include "nn/speech/channels_last.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <optional>
#include <string_view>

#include "nn/kernels/affine.h"

namespace s2s {
namespace {

using Numbers = at::IntArrayRef;
using Scalars = c10::List<std::optional<at::Scalar>>;

constexpr int64_t kNoPadding2d[] = {0, 0};

bool has_packed_convolutions() {
  return at::hasMKLDNN() && at::globalContext().userEnabledMkldnn();
}

/// The operators with which inductor packs weights and reads packed ones.
template <class Signature>
auto packing_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

at::Tensor packed(const at::Tensor& weight, Numbers stride, Numbers dilation) {
  using Signature =
      at::Tensor(const at::Tensor&, Numbers, Numbers, Numbers, int64_t, at::OptionalIntArrayRef);
  static const auto run = packing_operator<Signature>("mkldnn::_reorder_convolution_weight");
  return run.call(weight, Numbers(kNoPadding2d), stride, dilation, 1, {});
}

at::Tensor convolution_of_packed(const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& bias, Numbers stride, Numbers dilation) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&,
                               const std::optional<at::Tensor>&, Numbers, Numbers, Numbers, int64_t,
                               std::string_view, Scalars, std::optional<std::string_view>);
  static const auto run = packing_operator<Signature>("mkldnn::_convolution_pointwise");
  return run.call(x, weight, bias, Numbers(kNoPadding2d), stride, dilation, 1, "none", Scalars(),
                  "");
}

/// Of one output, which oneDNN computes as if there were a register of them: a product with the
/// weight of each place of the kernel, and the sum of these over the places.
at::Tensor conv_to_one(const at::Tensor& x_BCT, const at::Tensor& weight_KC,
                       const at::Tensor& bias_1, int64_t dilation) {
  const at::Tensor places_BTK = at::linear(x_BCT.transpose(1, 2), weight_KC);
  const int64_t last = (weight_KC.size(0) - 1) * dilation, count = x_BCT.size(2) - last;
  const auto place_BT = [&](int64_t k) {
    return places_BTK.select(2, k).narrow(1, k * dilation, count);
  };
  at::Tensor sum_BT = bias_1.defined() ? place_BT(0) + bias_1 : place_BT(0).clone();
  for (int64_t k = 1; k < weight_KC.size(0); ++k) sum_BT.add_(place_BT(k));
  return sum_BT.unsqueeze(1);
}

}  // namespace

bool uses_channels_last(const at::Tensor& x_BCT) {
  return x_BCT.is_cpu() && x_BCT.scalar_type() == at::kFloat && !at::GradMode::is_enabled() &&
         !at::autocast::is_autocast_enabled(at::kCPU);  // packed weights keep their dtype
}

at::Tensor new_channels_last(const at::Tensor& x, int64_t channels, int64_t positions) {
  return at::empty({x.size(0), positions, channels}, x.options()).transpose(1, 2);
}

at::Tensor joined_positions(const at::Tensor& before_BCT, const at::Tensor& x_BCT) {
  if (!before_BCT.defined() || before_BCT.size(2) == 0) return x_BCT;
  if (!uses_channels_last(x_BCT)) return at::cat({before_BCT, x_BCT}, 2);
  const int64_t first = before_BCT.size(2), second = x_BCT.size(2);
  const at::Tensor joined_BCT = new_channels_last(x_BCT, x_BCT.size(1), first + second);
  joined_BCT.narrow(2, 0, first).copy_(before_BCT);
  joined_BCT.narrow(2, first, second).copy_(x_BCT);
  return joined_BCT;
}

at::Tensor packed_conv_weight(const at::Tensor& weight_OCK, int64_t stride, int64_t dilation) {
  if (weight_OCK.size(0) == 1 && stride == 1) return weight_OCK[0].t().contiguous();
  const at::Tensor weight_OC1K = weight_OCK.unsqueeze(2).contiguous();
  // A kernel of 1 has another order for each number of positions, and little to bring into it.
  if (weight_OCK.size(2) == 1 || !has_packed_convolutions()) return weight_OC1K;
  const int64_t strides[] = {1, stride}, dilations[] = {1, dilation};
  return packed(weight_OC1K, Numbers(strides), Numbers(dilations));
}

at::Tensor channels_last_conv(const at::Tensor& x_BCT, const at::Tensor& packed_weight,
                              const at::Tensor& bias_O, int64_t stride, int64_t dilation) {
  if (packed_weight.dim() == 2) return conv_to_one(x_BCT, packed_weight, bias_O, dilation);
  const at::Tensor x_BC1T = x_BCT.unsqueeze(2);
  const int64_t strides[] = {1, stride}, dilations[] = {1, dilation};
  if (packed_weight.is_mkldnn()) {
    return convolution_of_packed(x_BC1T, packed_weight, bias_O, Numbers(strides),
                                 Numbers(dilations))
        .squeeze(2);
  }
  constexpr int64_t kFew = 16;
  if (packed_weight.size(3) == 1 && stride == 1 && x_BCT.size(0) * x_BCT.size(2) <= kFew) {
    return affine(x_BCT.transpose(1, 2), packed_weight.flatten(1), bias_O).transpose(1, 2);
  }
  return at::conv2d(x_BC1T, packed_weight, bias_O, Numbers(strides), Numbers(kNoPadding2d),
                    Numbers(dilations))
      .squeeze(2);
}

}  // namespace s2s
