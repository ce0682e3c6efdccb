#include "plain_rotation.h"

#include <ATen/ATen.h>

namespace s2s::cuda {

at::Tensor plain_rotation(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                          bool is_inverse) {
  const at::Tensor wide = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  const auto halves = wide.chunk(2, -1);
  const at::Tensor signed_sin = (is_inverse ? -sin : sin).unsqueeze(1);
  const at::Tensor turned =
      wide * cos.unsqueeze(1) + at::cat({-halves[1], halves[0]}, -1) * signed_sin;
  return turned.to(x.scalar_type()).contiguous();
}

}  // namespace s2s::cuda
