// Convolutions: LibTorch asks back ends that it does not know for these two operators.

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <array>
#include <tuple>

#include "device/backend/host_waits.h"
#include "device/backend/on_host.h"
#include "device/backend/streams.h"

namespace s2s::test_device {
namespace {

using Sizes = c10::IntArrayRef;

at::Tensor forward(const at::Tensor& input, const at::Tensor& weight,
                   const std::optional<at::Tensor>& bias, Sizes stride, Sizes padding,
                   Sizes dilation, bool transposed, Sizes output_padding, int64_t groups) {
  count_operator();
  streams().finish(current_stream());
  const at::AutoDispatchBelowADInplaceOrView below;
  OnHost host;
  std::optional<at::Tensor> host_bias;
  if (bias && bias->defined()) host_bias = host.host(*bias);
  return host.device(at::convolution(host.host(input), host.host(weight), host_bias, stride,
                                     padding, dilation, transposed, output_padding, groups));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight, Sizes stride,
    Sizes padding, Sizes dilation, bool transposed, Sizes output_padding, int64_t groups,
    std::array<bool, 3> wanted) {
  count_operator();
  streams().finish(current_stream());
  const at::AutoDispatchBelowADInplaceOrView below;
  OnHost host;
  const std::vector<int64_t> bias_sizes = {transposed ? weight.size(1) * groups : weight.size(0)};
  const auto [x, w, b] = at::convolution_backward(
      host.host(gradient), host.host(input), host.host(weight), Sizes(bias_sizes), stride, padding,
      dilation, transposed, output_padding, groups, wanted);
  return {host.device(x), host.device(w), host.device(b)};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("convolution_overrideable", &forward);
  m.impl("convolution_backward_overrideable", &backward);
}

}  // namespace s2s::test_device
