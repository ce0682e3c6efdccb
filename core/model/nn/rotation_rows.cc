#include "nn/rotation_rows.h"

#include "nn/row_runs.h"

namespace s2s {
namespace {

at::Tensor turned(const at::Tensor& x_BTHD, const at::Tensor& cos_TD, const at::Tensor& sin_TD,
                  bool is_inverse) {
  const at::Tensor x = x_BTHD.contiguous();
  const at::Tensor y = at::empty_like(x);
  const int64_t heads = x.size(2);
  const int64_t dim = x.size(3);
  with_type(x, [&](auto type) {
    using T = decltype(type);
    run_rows(rows::RotaryRows<T>{data_of<T>(x), data_of<float>(cos_TD), data_of<float>(sin_TD),
                                 data_of<T>(y), heads, dim, x.size(1), is_inverse ? -1.0F : 1.0F},
             x.size(0) * x.size(1), heads * dim);
  });
  return y;
}

/// Heads `begin` .. `begin + count - 1` of a packed tensor, as a view.
at::Tensor heads_of(const at::Tensor& qkv, int64_t dim, int64_t begin, int64_t count) {
  return qkv.view({qkv.size(0), qkv.size(1), -1, dim}).narrow(2, begin, count);
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> rotate_qk_rows(const at::Tensor& q, const at::Tensor& k,
                                                  const at::Tensor& cos, const at::Tensor& sin,
                                                  bool is_inverse) {
  return {turned(q, cos, sin, is_inverse), turned(k, cos, sin, is_inverse)};
}

void rotate_qkv_rows(const at::Tensor& qkv, const at::Tensor& cos, const at::Tensor& sin,
                     int64_t num_heads, int64_t num_kv_heads) {
  const at::Tensor both = heads_of(qkv, cos.size(1), 0, num_heads + num_kv_heads);
  both.copy_(turned(both, cos, sin, /*is_inverse=*/false));
}

at::Tensor rotate_qkv_rows_backward(const at::Tensor& dq, const at::Tensor& dk,
                                    const at::Tensor& dv, const at::Tensor& cos,
                                    const at::Tensor& sin) {
  return at::cat({turned(dq, cos, sin, true), turned(dk, cos, sin, true), dv}, 2).flatten(2);
}

}  // namespace s2s
