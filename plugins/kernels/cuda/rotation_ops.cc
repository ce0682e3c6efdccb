#include "rotation_ops.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>

#include "device_memory.h"
#include "plain_rotation.h"
#include "rotation_plan.h"

namespace s2s::cuda {
namespace {

constexpr const char* kRotationFile = "rotation.cu";

/// The kernel's struct Heads.
struct Heads {
  const void* from = nullptr;
  void* to = nullptr;
  long long from_batch = 0, from_frame = 0, from_head = 0;
  long long to_frame = 0, to_head = 0;
};

Heads heads_of(const at::Tensor& from, const at::Tensor& to) {
  if (!from.defined()) return {};
  return {pointer(from),  pointer(to),  from.stride(0), from.stride(1),
          from.stride(2), to.stride(1), to.stride(2)};
}

/// Heads `begin` .. `begin + count - 1` of a packed tensor, as a view.
at::Tensor heads_in(const at::Tensor& packed, int64_t dim, int64_t begin, int64_t count) {
  return packed.view({packed.size(0), packed.size(1), -1, dim}).narrow(2, begin, count);
}

}  // namespace

void RotationOps::rotate(const Move& q, const Move& k, const Move& v, const at::Tensor& cos,
                         const at::Tensor& sin, bool is_inverse) const {
  const c10::cuda::CUDAGuard guard(q.from.device());
  const bool has_values = v.from.defined();
  const RotationCase rotation = {
      q.from.size(3),
      q.from.scalar_type(),
      q.from.size(2),
      k.from.size(2),
      has_values ? v.from.size(2) : 0,
      are_aligned({q.from, q.to, k.from, k.to, v.from, v.to, cos, sin}) &&
          have_aligned_strides({q.from, q.to, k.from, k.to, v.from, v.to}, 3)};
  const auto plan = plan_rotation(rotation);
  cudaKernel_t const kernel =
      plan ? jit_->kernel({kRotationFile, rotation_macros(rotation, *plan)}, "s2s_rotate")
           : nullptr;
  if (kernel == nullptr) {
    q.to.copy_(plain_rotation(q.from, cos, sin, is_inverse));
    k.to.copy_(plain_rotation(k.from, cos, sin, is_inverse));
    if (has_values) v.to.copy_(v.from);
    return;
  }
  Heads parts[] = {heads_of(q.from, q.to), heads_of(k.from, k.to), heads_of(v.from, v.to)};
  void* tables[] = {pointer(cos), pointer(sin)};
  auto frames = static_cast<unsigned>(q.from.size(1));
  float sign = is_inverse ? -1.0F : 1.0F;
  void* args[] = {&parts[0], &parts[1], &parts[2], &tables[0], &tables[1], &frames, &sign};
  launch(kernel, {q.from.size(0) * q.from.size(1), plan->threads}, args);
}

std::tuple<at::Tensor, at::Tensor> RotationOps::rotate_qk(const at::Tensor& q, const at::Tensor& k,
                                                          const at::Tensor& cos,
                                                          const at::Tensor& sin,
                                                          bool is_inverse) const {
  const at::Tensor new_q = at::empty(q.sizes(), q.options());
  const at::Tensor new_k = at::empty(k.sizes(), k.options());
  rotate({q, new_q}, {k, new_k}, {}, cos, sin, is_inverse);
  return {new_q, new_k};
}

void RotationOps::rotate_qkv_(const at::Tensor& qkv, const at::Tensor& cos, const at::Tensor& sin,
                              int64_t num_heads, int64_t num_kv_heads) const {
  const at::Tensor q = heads_in(qkv, cos.size(1), 0, num_heads);
  const at::Tensor k = heads_in(qkv, cos.size(1), num_heads, num_kv_heads);
  rotate({q, q}, {k, k}, {}, cos, sin, /*is_inverse=*/false);
}

at::Tensor RotationOps::rotate_qkv_backward(const at::Tensor& dq, const at::Tensor& dk,
                                            const at::Tensor& dv, const at::Tensor& cos,
                                            const at::Tensor& sin) const {
  const int64_t dim = dq.size(3);
  const int64_t num_heads = dq.size(2), num_kv_heads = dk.size(2);
  const at::Tensor grad =
      at::empty({dq.size(0), dq.size(1), (num_heads + 2 * num_kv_heads) * dim}, dq.options());
  rotate({dq, heads_in(grad, dim, 0, num_heads)},
         {dk, heads_in(grad, dim, num_heads, num_kv_heads)},
         {dv, heads_in(grad, dim, num_heads + num_kv_heads, num_kv_heads)}, cos, sin,
         /*is_inverse=*/true);
  return grad;
}

}  // namespace s2s::cuda
