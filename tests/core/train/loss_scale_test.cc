#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "train/precision.h"

using s2s::LossScale;

namespace {

at::Tensor found_inf(bool is_set) { return at::full({}, is_set ? 1.0F : 0.0F); }

}  // namespace

// Source: torch/amp/grad_scaler.py and aten/src/ATen/native/cuda/AmpKernels.cu.
TEST_CASE("a loss scale halves at a skipped update and doubles after many good ones") {
  LossScale scale(true, at::kCPU);
  CHECK(scale.read() == LossScale::kInitial);
  scale.update(found_inf(true));
  scale.update(found_inf(true));
  CHECK(scale.read() == LossScale::kInitial / 4);
  for (int64_t i = 1; i < LossScale::kGrowthInterval; ++i) scale.update(found_inf(false));
  CHECK(scale.read() == LossScale::kInitial / 4);
  CHECK(scale.num_good() == LossScale::kGrowthInterval - 1);
  scale.update(found_inf(false));
  CHECK(scale.read() == LossScale::kInitial / 2);
  CHECK(scale.num_good() == 0);
  scale.update(found_inf(false));
  scale.update(found_inf(true));  // begins to count again
  CHECK(scale.num_good() == 0);
}

TEST_CASE("a loss scale does not grow to infinity, and goes on from its state") {
  LossScale scale(true, at::kCPU);
  scale.restore(3e38F, LossScale::kGrowthInterval - 1);
  scale.update(found_inf(false));
  CHECK(scale.read() == 3e38F);
  CHECK(scale.num_good() == 0);
}

TEST_CASE("without float16 there is no scale") {
  LossScale scale(false, at::kCPU);
  scale.update(found_inf(true));
  scale.restore(4, 5);
  CHECK_FALSE(scale.is_on());
  CHECK_FALSE(scale.value().defined());
}
