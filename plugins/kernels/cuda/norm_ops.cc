#include "norm_ops.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>

#include "device_memory.h"
#include "norm_plan.h"
#include "plain_norm.h"

namespace s2s::cuda {
namespace {

constexpr const char* kNormFile = "add_rms_norm.cu";
constexpr int64_t kBlocksPerMultiprocessor = 2;  // of the backward: each has a row of partial sums

int64_t num_multiprocessors() {
  int device = 0;
  int count = 0;
  C10_CUDA_CHECK(cudaGetDevice(&device));
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

}  // namespace

bool NormOps::forward(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight,
                      double eps, bool adds_one, Three& result) const {
  const bool adds = y.defined();
  const int64_t dim = x.size(-1);
  const NormCase norm = {dim,
                         x.scalar_type(),
                         adds,
                         adds_one,
                         are_aligned({x, y, weight}),
                         adds ? y.scalar_type() : x.scalar_type(),
                         weight.scalar_type()};
  const auto plan = plan_norm(norm);
  if (!plan) return false;
  cudaKernel_t const kernel = jit_->kernel({kNormFile, norm_macros(norm, *plan)}, "s2s_rms_norm");
  if (kernel == nullptr) return false;
  long long rows = x.numel() / dim;
  const at::Tensor sum = adds ? at::empty_like(x) : at::Tensor();
  const at::Tensor normed = at::empty_like(x, x.options().dtype(norm.out()));
  const at::Tensor inv_rms = at::empty({rows}, x.options().dtype(at::kFloat));
  void* pointers[] = {pointer(x),   pointer(y),      pointer(weight),
                      pointer(sum), pointer(normed), pointer(inv_rms)};
  auto wide_eps = static_cast<float>(eps);
  void* args[] = {&pointers[0], &pointers[1], &pointers[2], &pointers[3],
                  &pointers[4], &pointers[5], &rows,        &wide_eps};
  launch(kernel, {(rows + plan->rows - 1) / plan->rows, plan->lanes, plan->rows}, args);
  result = {sum, normed, inv_rms};
  return true;
}

bool NormOps::backward(const at::Tensor& d_sum, const at::Tensor& d_normed, const at::Tensor& x,
                       const at::Tensor& weight, const at::Tensor& inv_rms, bool adds_one,
                       at::ScalarType y_type, Three& result) const {
  const int64_t dim = x.size(-1);
  const NormCase norm = {dim,
                         x.scalar_type(),
                         d_sum.defined(),
                         adds_one,
                         are_aligned({d_sum, d_normed, x, weight}),
                         y_type,
                         weight.scalar_type()};
  const auto plan = plan_norm(norm);
  if (!plan) return false;
  cudaKernel_t const kernel =
      jit_->kernel({kNormFile, norm_macros(norm, *plan)}, "s2s_rms_norm_backward");
  if (kernel == nullptr) return false;
  long long rows = x.numel() / dim;
  const int64_t blocks = std::min<int64_t>(kBlocksPerMultiprocessor * num_multiprocessors(),
                                           (rows + plan->rows - 1) / plan->rows);
  const at::Tensor dx = at::empty_like(x);
  const at::Tensor dy =
      y_type == x.scalar_type() ? dx : at::empty_like(x, x.options().dtype(y_type));
  const at::Tensor parts = at::empty({blocks * plan->rows, dim}, x.options().dtype(at::kFloat));
  void* pointers[] = {pointer(d_sum),   pointer(d_normed), pointer(x),  pointer(weight),
                      pointer(inv_rms), pointer(dx),       pointer(dy), pointer(parts)};
  void* args[] = {&pointers[0], &pointers[1], &pointers[2], &pointers[3], &pointers[4],
                  &pointers[5], &pointers[6], &pointers[7], &rows};
  launch(kernel, {blocks, plan->lanes, plan->rows}, args);
  result = {dx, dy, parts.sum(0).to(weight.scalar_type())};
  return true;
}

Two NormOps::rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                      bool adds_one) const {
  const c10::cuda::CUDAGuard guard(x.device());
  Three result;
  if (!forward(x, {}, weight, eps, adds_one, result)) {
    return plain_rms_norm(x, weight, eps, adds_one);
  }
  return {std::get<1>(result), std::get<2>(result)};
}

Two NormOps::rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                               const at::Tensor& inv_rms, bool adds_one) const {
  const c10::cuda::CUDAGuard guard(x.device());
  Three result;
  if (backward({}, dy, x, weight, inv_rms, adds_one, x.scalar_type(), result)) {
    return {std::get<0>(result), std::get<2>(result)};
  }
  return plain_rms_norm_backward(dy, x, weight, inv_rms, adds_one);
}

Three NormOps::add_rms_norm(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight,
                            double eps, bool adds_one) const {
  const c10::cuda::CUDAGuard guard(x.device());
  Three result;
  if (forward(x, y, weight, eps, adds_one, result)) return result;
  const at::Tensor sum = x + y;
  const auto [normed, inv_rms] = plain_rms_norm(sum, weight, eps, adds_one);
  return {sum, normed, inv_rms};
}

Three NormOps::add_rms_norm_backward(const at::Tensor& d_sum, const at::Tensor& d_normed,
                                     const at::Tensor& sum, const at::Tensor& weight,
                                     const at::Tensor& inv_rms, bool adds_one,
                                     at::ScalarType y_type) const {
  const c10::cuda::CUDAGuard guard(sum.device());
  Three result;
  if (backward(d_sum, d_normed, sum, weight, inv_rms, adds_one, y_type, result)) return result;
  const auto [d_row, d_weight] = plain_rms_norm_backward(d_normed, sum, weight, inv_rms, adds_one);
  const at::Tensor dx = d_row + d_sum;
  return {dx, dx.to(y_type), d_weight};
}

}  // namespace s2s::cuda
