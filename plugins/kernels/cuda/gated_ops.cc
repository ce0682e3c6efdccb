#include "gated_ops.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>

#include "device_memory.h"
#include "gated_plan.h"
#include "plain_gated.h"

namespace s2s::cuda {
namespace {

constexpr const char* kGatedFile = "gated.cu";

/// Elements from one row of F to the next one.
int64_t row_stride(const at::Tensor& x) { return x.dim() > 1 ? x.stride(x.dim() - 2) : x.size(-1); }

bool are_rows_aligned(const at::Tensor& a, const at::Tensor& b) {
  return are_aligned({a, b}) && have_aligned_strides({a, b}, a.dim() - 1);
}

int64_t num_blocks(int64_t count, const GatedPlan& plan) {
  return (count + plan.threads - 1) / plan.threads;
}

}  // namespace

at::Tensor GatedOps::forward(const at::Tensor& gate, const at::Tensor& up, bool is_silu) const {
  const c10::cuda::CUDAGuard guard(gate.device());
  const GatedCase gated = {gate.size(-1), gate.scalar_type(), is_silu, are_rows_aligned(gate, up)};
  const auto plan = plan_gated(gated);
  cudaKernel_t const kernel =
      plan ? jit_->kernel({kGatedFile, gated_macros(gated, *plan)}, "s2s_gated") : nullptr;
  if (kernel == nullptr) return plain_gated(gate, up, is_silu);
  const at::Tensor y = at::empty(gate.sizes(), gate.options());
  void* pointers[] = {pointer(gate), pointer(up), pointer(y)};
  long long stride = row_stride(gate);
  long long count = y.numel() / plan->elements_per_load;
  void* args[] = {&pointers[0], &pointers[1], &pointers[2], &stride, &count};
  launch(kernel, {num_blocks(count, *plan), plan->threads}, args);
  return y;
}

void GatedOps::backward(const at::Tensor& dy, const at::Tensor& gate, const at::Tensor& up,
                        bool is_silu, const at::Tensor& d_gate, const at::Tensor& d_up) const {
  const c10::cuda::CUDAGuard guard(gate.device());
  const GatedCase gated = {
      gate.size(-1), gate.scalar_type(), is_silu,
      are_aligned({dy}) && are_rows_aligned(gate, up) && are_rows_aligned(d_gate, d_up)};
  const auto plan = plan_gated(gated);
  cudaKernel_t const kernel =
      plan ? jit_->kernel({kGatedFile, gated_macros(gated, *plan)}, "s2s_gated_backward") : nullptr;
  if (kernel == nullptr) {
    plain_gated_backward(dy, gate, up, is_silu, d_gate, d_up);
    return;
  }
  void* pointers[] = {pointer(dy), pointer(gate), pointer(up), pointer(d_gate), pointer(d_up)};
  long long in_stride = row_stride(gate);
  long long out_stride = row_stride(d_gate);
  long long count = dy.numel() / plan->elements_per_load;
  void* args[] = {&pointers[0], &pointers[1], &pointers[2], &pointers[3],
                  &pointers[4], &in_stride,   &out_stride,  &count};
  launch(kernel, {num_blocks(count, *plan), plan->threads}, args);
}

at::Tensor GatedOps::gated(const at::Tensor& gate, const at::Tensor& up, bool is_silu) const {
  return forward(gate, up, is_silu);
}

std::tuple<at::Tensor, at::Tensor> GatedOps::gated_backward(const at::Tensor& dy,
                                                            const at::Tensor& gate,
                                                            const at::Tensor& up,
                                                            bool is_silu) const {
  const at::Tensor d_gate = at::empty_like(gate);
  const at::Tensor d_up = at::empty_like(up);
  backward(dy, gate, up, is_silu, d_gate, d_up);
  return {d_gate, d_up};
}

at::Tensor GatedOps::gated_halves(const at::Tensor& gate_up, bool is_silu) const {
  const auto halves = gate_up.chunk(2, -1);
  return forward(halves[0], halves[1], is_silu);
}

at::Tensor GatedOps::gated_halves_backward(const at::Tensor& dy, const at::Tensor& gate_up,
                                           bool is_silu) const {
  const at::Tensor grad = at::empty_like(gate_up);
  const auto halves = gate_up.chunk(2, -1);
  const auto grads = grad.chunk(2, -1);
  backward(dy, halves[0], halves[1], is_silu, grads[0], grads[1]);
  return grad;
}

}  // namespace s2s::cuda
