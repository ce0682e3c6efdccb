#include "scalar_groups.h"

#include <ATen/ATen.h>

namespace s2s::nemo_audio_codec {
namespace {

/// One number for each element of a group, as [L] like `x`.
at::Tensor row_like(const std::vector<float>& values, const at::Tensor& x) {
  return at::tensor(values, at::kFloat).to(x.device());
}

}  // namespace

at::Tensor ScalarGroups::encode(const at::Tensor& latents_BDT) const {
  std::vector<float> scales, offsets, shifts, middles;
  for (const int64_t count : options_.num_levels_per_group) {
    const float scale = static_cast<float>(count - 1) / 2 * static_cast<float>(1 - options_.eps);
    const float offset = count % 2 == 0 ? 0.5F : 0.0F;
    scales.push_back(scale);
    offsets.push_back(offset);
    shifts.push_back(offset / scale);
    middles.push_back(static_cast<float>(count / 2));
  }
  const int64_t width = static_cast<int64_t>(scales.size());
  const at::Tensor x_BKTL =
      latents_BDT.view({latents_BDT.size(0), options_.num_groups, width, latents_BDT.size(2)})
          .permute({0, 1, 3, 2});
  const at::Tensor shift_L = row_like(shifts, x_BKTL).tan();
  const at::Tensor compressed_BKTL =
      row_like(scales, x_BKTL) * (x_BKTL + shift_L).tanh() - row_like(offsets, x_BKTL);
  return levels_.codes((compressed_BKTL.round() + row_like(middles, x_BKTL)).to(at::kLong));
}

at::Tensor ScalarGroups::decode(const at::Tensor& codes_BKT) const {
  std::vector<float> middles;
  for (const int64_t count : options_.num_levels_per_group) {
    middles.push_back(static_cast<float>(count / 2));
  }
  const at::Tensor middle_L = row_like(middles, codes_BKT);
  const at::Tensor x_BKTL = (levels_.levels(codes_BKT).to(at::kFloat) - middle_L) / middle_L;
  return x_BKTL.permute({0, 1, 3, 2}).reshape({codes_BKT.size(0), -1, codes_BKT.size(2)});
}

}  // namespace s2s::nemo_audio_codec
