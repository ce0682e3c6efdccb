#include "train/loss_scale.h"

#include <cmath>

namespace s2s {

// Source: aten/src/ATen/native/cuda/AmpKernels.cu, amp_update_scale.
void LossScale::update(bool skipped) {
  if (!on_) return;
  if (skipped) {
    scale_ *= kBackoff;
    num_good_ = 0;
  } else if (++num_good_ == kGrowthInterval) {
    const float grown = scale_ * kGrowth;
    if (std::isfinite(grown)) scale_ = grown;
    num_good_ = 0;
  }
}

void LossScale::restore(float scale, int64_t num_good) {
  if (!on_) return;
  scale_ = scale;
  num_good_ = num_good;
}

}  // namespace s2s
