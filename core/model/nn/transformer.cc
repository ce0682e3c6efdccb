#include "s2s/nn/transformer.h"

#include <ATen/ATen.h>

namespace s2s {

at::Tensor to_heads(const at::Tensor& x, int64_t head_dim) {
  return x.unflatten(-1, {-1, head_dim}).transpose(1, 2);
}

at::Tensor from_heads(const at::Tensor& x_BNTD) { return x_BNTD.transpose(1, 2).flatten(2); }

at::Tensor rotate_halves(const at::Tensor& x_BNTD, const at::Tensor& cos_TD,
                         const at::Tensor& sin_TD) {
  const std::vector<at::Tensor> halves = x_BNTD.chunk(2, -1);
  const at::Tensor turned = at::cat({-halves[1], halves[0]}, -1);
  const at::ScalarType type = x_BNTD.scalar_type();
  return x_BNTD * cos_TD.to(type) + turned * sin_TD.to(type);
}

at::Tensor attend_seen(const at::Tensor& q, const std::vector<SeenKeys>& seen,
                       const AttendTo& attend) {
  if (seen.size() == 1) return attend(q, seen.front());
  std::vector<at::Tensor> rows;
  for (const SeenKeys& keys : seen) {
    rows.push_back(attend(q.narrow(0, static_cast<int64_t>(rows.size()), 1), keys));
  }
  return at::cat(rows);
}

}  // namespace s2s
