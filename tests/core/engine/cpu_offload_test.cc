// What offloading does on a CPU, where nothing goes on beside the caller: sums come as late as they
// may, so that who reads them early is found.

#include "engine/cpu_offload.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using namespace s2s;

TEST_CASE("a sum is in the host's memory when it has settled, not before") {
  CpuOffload copies(at::kCPU);
  const at::Tensor total = copies.empty(3, at::kFloat).fill_(7);
  copies.bring(at::full({3}, 2.0), total, /*is_first=*/true);
  CHECK(total.eq(7).all().item<bool>());
  copies.settle();
  CHECK(total.eq(2).all().item<bool>());
  copies.bring(at::full({3}, 3.0), total, /*is_first=*/false);
  CHECK(total.eq(2).all().item<bool>());
  copies.settle();
  CHECK(total.eq(5).all().item<bool>());
}

TEST_CASE("sums of a shorter type are added up in the longer one") {
  CpuOffload copies(at::kCPU);
  const at::Tensor total = copies.empty(1, at::kFloat);
  const at::Tensor small = at::full({1}, 0.001953125, at::kBFloat16);  // vanishes beside 1 in bf16
  copies.bring(at::ones({1}, at::kBFloat16), total, /*is_first=*/true);
  copies.bring(small, total, /*is_first=*/false);
  copies.settle();
  CHECK(total.item<float>() == 1.001953125F);
}

TEST_CASE("few sums are held; older ones arrive in their order") {
  CpuOffload copies(at::kCPU);
  std::vector<at::Tensor> totals;
  for (int i = 0; i < 5; ++i) {
    totals.push_back(copies.empty(1, at::kFloat).fill_(-1));
    copies.bring(at::full({1}, static_cast<double>(i)), totals.back(), /*is_first=*/true);
  }
  for (int i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK(totals[static_cast<size_t>(i)].item<float>() == (i < 3 ? i : -1));
  }
  copies.settle();
  CHECK(totals.back().item<float>() == 4);
}

TEST_CASE("what goes to the device is there at once") {
  const CpuOffload copies(at::kCPU);
  bool ran = false;
  const StreamMark mark = copies.to_device([&] { ran = true; });
  CHECK(ran);
  CHECK(!mark.has_value());
  copies.wait_for(mark);
}
