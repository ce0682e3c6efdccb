#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <random>

#include "train/precision.h"

using s2s::LossScale;

TEST_CASE("the loss scale changes as that of torch.amp.GradScaler") {
  // GradScaler.update calls this very operator.
  at::Tensor scale = at::full({1}, LossScale::kInitial);
  at::Tensor tracker = at::zeros({1}, at::kInt);
  LossScale ours(true);
  std::mt19937 random(7);
  int64_t num_changes = 0;
  for (int i = 0; i < 50000; ++i) {
    // At first often, as when a run begins; then long stretches without.
    const bool skipped = random() % (i < 20 ? 2 : 3000) == 0;
    const float before = ours.value();
    at::_amp_update_scale_(scale, tracker, at::full({1}, skipped ? 1.0F : 0.0F), LossScale::kGrowth,
                           LossScale::kBackoff, LossScale::kGrowthInterval);
    ours.update(skipped);
    num_changes += ours.value() != before ? 1 : 0;
    REQUIRE(ours.value() == scale.item<float>());
    REQUIRE(ours.num_good() == tracker.item<int>());
  }
  CHECK(num_changes > 20);
}

TEST_CASE("a loss scale does not grow to infinity, and goes on from its state") {
  LossScale scale(true);
  scale.restore(3e38F, LossScale::kGrowthInterval - 1);
  scale.update(false);
  CHECK(scale.value() == 3e38F);
  CHECK(scale.num_good() == 0);
}

TEST_CASE("without float16 the scale is one") {
  LossScale scale(false);
  scale.update(true);
  scale.restore(4, 5);
  CHECK_FALSE(scale.is_on());
  CHECK(scale.value() == 1);
}
