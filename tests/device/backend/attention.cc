// LibTorch's choice of an attention kernel, as on a GPU for which cuDNN comes first. Computed by
// the CPU's kernels, so all give the same numbers, but each goes through an operator of its own.

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/native/transformers/attention.h>
#include <torch/library.h>

#include "device/backend/on_host.h"

namespace s2s::test_device {
namespace {

/// cuDNN's attention fails with heads of this size, which `choice` does not know.
constexpr int64_t kFailingHead = 24;

int64_t choice(const at::Tensor& q, const at::Tensor&, const at::Tensor&,
               const std::optional<at::Tensor>& mask, double, bool, std::optional<double>, bool) {
  const at::Context& torch = at::globalContext();
  const bool is_short = q.scalar_type() == at::kBFloat16 || q.scalar_type() == at::kHalf;
  const bool is_fused = is_short && !mask;
  auto taken = at::SDPBackend::math;
  if (is_fused && torch.userEnabledFlashSDP()) taken = at::SDPBackend::flash_attention;
  if (is_fused && torch.userEnabledCuDNNSDP() && q.size(-1) % 8 == 0 && q.size(-1) <= 128 &&
      !torch.deterministicAlgorithms()) {
    taken = at::SDPBackend::cudnn_attention;
  }
  return static_cast<int64_t>(taken);
}

using Forward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt,
                           at::Tensor, at::Tensor, at::Tensor>;

Forward cudnn_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const std::optional<at::Tensor>&, bool, double dropout, bool is_causal,
                        bool, std::optional<double> scale) {
  TORCH_CHECK(q.size(-1) != kFailingHead, "no valid execution plan");
  OnHost host;
  const auto [y, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
      host.host(q), host.host(k), host.host(v), dropout, is_causal, {}, scale);
  const at::Tensor none = at::empty({0}, q.options().dtype(at::kLong));
  return {host.device(y), host.device(lse), none, none, q.size(2), k.size(2), none, none, none};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> cudnn_attention_backward(
    const at::Tensor& dy, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
    const at::Tensor& y, const at::Tensor& lse, const at::Tensor&, const at::Tensor&,
    const at::Tensor&, const at::Tensor&, const at::Tensor&, c10::SymInt, c10::SymInt,
    double dropout, bool is_causal, std::optional<double> scale) {
  OnHost host;
  const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      host.host(dy), host.host(q), host.host(k), host.host(v), host.host(y), host.host(lse),
      dropout, is_causal, {}, scale);
  return {host.device(dq), host.device(dk), host.device(dv)};
}

}  // namespace
}  // namespace s2s::test_device

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &s2s::test_device::choice)
}  // namespace at::native

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_sdp_choice", &s2s::test_device::choice);
  m.impl("_scaled_dot_product_cudnn_attention", &s2s::test_device::cudnn_attention);
  m.impl("_scaled_dot_product_cudnn_attention_backward",
         &s2s::test_device::cudnn_attention_backward);
}
