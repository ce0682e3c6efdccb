#include "nn/kernels/affine.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "nn/kernels/parallel_rows.h"
#include "nn/kernels/small_gemm.h"

namespace s2s {
namespace {

bool wants_gradient(const at::Tensor& x) { return x.defined() && x.requires_grad(); }

/// Generation: no gradient is wanted and the weight is all there is to read.
bool is_small_gemm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  constexpr int64_t kMostRows = 16;
  for (const at::Tensor& t : {x, weight, bias}) {
    if (t.defined() && (!t.is_cpu() || t.layout() != at::kStrided)) return false;
  }
  if (at::GradMode::is_enabled() &&
      (wants_gradient(x) || wants_gradient(weight) || wants_gradient(bias))) {
    return false;
  }
  const int64_t num_rows = x.numel() / std::max<int64_t>(1, x.size(-1));
  return num_rows > 0 && num_rows <= kMostRows && weight.is_contiguous();
}

/// The type in which LibTorch would multiply these, where there is a kernel for it.
std::optional<at::ScalarType> small_gemm_type(const at::Tensor& x, const at::Tensor& weight,
                                              const at::Tensor& bias) {
  const auto is_known = [](const at::Tensor& t) {
    return !t.defined() || t.scalar_type() == at::kFloat || t.scalar_type() == at::kBFloat16;
  };
  if (!is_known(x) || !is_known(weight) || !is_known(bias)) return {};
  if (at::autocast::is_autocast_enabled(at::kCPU)) {
    if (at::autocast::get_autocast_dtype(at::kCPU) == at::kBFloat16) return at::kBFloat16;
    return {};
  }
  const at::ScalarType type = weight.scalar_type();
  if (x.scalar_type() != type || (bias.defined() && bias.scalar_type() != type)) return {};
  return type;
}

/// A weight as small_gemm_product reads it. Autocast keeps rounded copies of trained weights until
/// its scope ends, which halves what a frame reads; others are rounded while they are read.
at::Tensor weight_to_read(const at::Tensor& weight, at::ScalarType type) {
  const bool is_kept = type == at::kBFloat16 && weight.requires_grad() && weight.is_leaf() &&
                       !weight.is_view() && at::autocast::is_autocast_cache_enabled();
  return is_kept ? at::autocast::cached_cast(type, weight, at::kCPU) : weight;
}

template <class W, class Y>
at::Tensor small_gemm_of(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  const at::Tensor y = at::empty(sizes, x.options().dtype(c10::CppTypeToScalarType<Y>::value));
  const rows::FewRows<W, Y> job{x.const_data_ptr<W>(),
                                weight.const_data_ptr<W>(),
                                bias.defined() ? bias.const_data_ptr<float>() : nullptr,
                                y.mutable_data_ptr<Y>(),
                                x.numel() / x.size(-1),
                                x.size(-1),
                                weight.size(0)};
  constexpr int64_t kOutputsPerPiece = 64;
  constexpr int64_t kBytesPerThread = 512 << 10;  // less is read sooner than a thread awakes
  const int64_t piece_bytes = kOutputsPerPiece * job.inner * static_cast<int64_t>(sizeof(W));
  const int64_t pieces = (job.outer + kOutputsPerPiece - 1) / kOutputsPerPiece;
  parallel_rows(pieces, 1 + kBytesPerThread / piece_bytes, [&](int64_t begin, int64_t end) {
    rows::run(job, begin * kOutputsPerPiece, std::min(job.outer, end * kOutputsPerPiece));
  });
  return y;
}

/// `type`: the numbers are rounded to it before they are multiplied, and so is the result.
at::Tensor small_gemm_product(const at::Tensor& x_in, const at::Tensor& weight_in,
                              const at::Tensor& bias_in, at::ScalarType type) {
  const at::Tensor weight = weight_to_read(weight_in, type);
  const at::Tensor x = x_in.to(type).to(weight.scalar_type()).contiguous();
  const at::Tensor bias =
      bias_in.defined() ? bias_in.to(type).to(at::kFloat).contiguous() : bias_in;
  if (weight.scalar_type() == at::kBFloat16) {
    return small_gemm_of<at::BFloat16, at::BFloat16>(x, weight, bias);
  }
  return type == at::kFloat ? small_gemm_of<float, float>(x, weight, bias)
                            : small_gemm_of<float, at::BFloat16>(x, weight, bias);
}

}  // namespace

at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (is_small_gemm(x, weight, bias)) {
    const std::optional<at::ScalarType> type = small_gemm_type(x, weight, bias);
    if (type) return small_gemm_product(x, weight, bias, *type);
  }
  return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
}

}  // namespace s2s
