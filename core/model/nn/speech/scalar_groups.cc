#include "s2s/nn/scalar_groups.h"

#include <ATen/ATen.h>

namespace s2s {
namespace {

/// One number for each element of a group, as [L] like `x`.
at::Tensor row_like(const std::vector<float>& values, const at::Tensor& x) {
  return at::tensor(values, at::kFloat).to(x.device());
}

/// [B, K, T, L] -> [B, D, T]
at::Tensor as_latents(const at::Tensor& x_BKTL) {
  return x_BKTL.permute({0, 1, 3, 2}).flatten(1, 2);
}

}  // namespace

at::Tensor ScalarGroups::middle_like(const at::Tensor& x) const {
  std::vector<float> middles;
  for (const int64_t count : levels_.counts()) middles.push_back(static_cast<float>(count / 2));
  return row_like(middles, x);
}

at::Tensor ScalarGroups::compressed(const at::Tensor& latents_BDT) const {
  std::vector<float> scales, offsets, shifts;
  for (const int64_t count : levels_.counts()) {
    const float scale = static_cast<float>(count - 1) / 2 * static_cast<float>(1 - eps_);
    const float offset = count % 2 == 0 ? 0.5F : 0.0F;
    scales.push_back(scale);
    offsets.push_back(offset);
    shifts.push_back(offset / scale);
  }
  const int64_t width = static_cast<int64_t>(scales.size());
  const at::Tensor x_BKTL =
      latents_BDT.reshape({latents_BDT.size(0), num_groups_, width, latents_BDT.size(2)})
          .permute({0, 1, 3, 2});
  const at::Tensor shift_L = row_like(shifts, x_BKTL).tan();
  return row_like(scales, x_BKTL) * (x_BKTL + shift_L).tanh() - row_like(offsets, x_BKTL);
}

at::Tensor ScalarGroups::encode(const at::Tensor& latents_BDT) const {
  const at::Tensor level_BKTL = compressed(latents_BDT).round() + middle_like(latents_BDT);
  return levels_.codes(level_BKTL.to(at::kLong));
}

at::Tensor ScalarGroups::decode(const at::Tensor& codes_BKT) const {
  const at::Tensor middle_L = middle_like(codes_BKT);
  return as_latents((levels_.levels(codes_BKT).to(at::kFloat) - middle_L) / middle_L);
}

at::Tensor ScalarGroups::quantize(const at::Tensor& latents_BDT) const {
  const at::Tensor x_BKTL = compressed(latents_BDT);
  return as_latents((x_BKTL + (x_BKTL.round() - x_BKTL).detach()) / middle_like(latents_BDT));
}

}  // namespace s2s
