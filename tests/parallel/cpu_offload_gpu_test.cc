// Streams of offloading, on one GPU.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "engine/cpu_offload.h"
#include "parallel/gpus.h"

using namespace s2s;

namespace {

constexpr int64_t kElements = int64_t{1} << 24;  // 64 MiB of float32: copies take a while

/// Keeps the current stream busy, and writes `value` behind that.
at::Tensor late(double value, at::Device device) {
  const at::Tensor square = at::ones({4096, 4096}, at::TensorOptions().device(device)) / 4096;
  at::Tensor busy = square;
  for (int i = 0; i < 20; ++i) busy = busy.matmul(square);
  return at::full({kElements}, value, at::TensorOptions().device(device)) * busy[0][0].mul(4096);
}

}  // namespace

TEST_CASE("sums are copied behind the kernels that write them") {
  if (test::num_gpus() == 0) {
    MESSAGE("skipped: no GPU here");
    return;
  }
  const at::Device device(at::kCUDA, 0);
  CpuOffload copies(device);
  const at::Tensor total = copies.empty(kElements, at::kFloat);
  CHECK(total.is_pinned());
  copies.bring(late(2, device), total, /*is_first=*/true);
  copies.bring(late(3, device).to(at::kBFloat16), total, /*is_first=*/false);
  copies.settle();
  CHECK(at::allclose(total, at::full({kElements}, 5.0), 1e-3));
}

TEST_CASE("the stream that computes waits for what comes from the host") {
  if (test::num_gpus() == 0) {
    MESSAGE("skipped: no GPU here");
    return;
  }
  const at::Device device(at::kCUDA, 0);
  CpuOffload copies(device);
  const at::Tensor source = copies.empty(kElements, at::kFloat);
  const at::Tensor target = at::zeros({kElements}, at::TensorOptions().device(device));
  for (int round = 1; round <= 3; ++round) {
    source.fill_(round);
    const StreamMark mark = copies.to_device([&] { target.copy_(source, /*non_blocking=*/true); });
    copies.wait_for(mark);
    const at::Tensor seen = target * 2;
    copies.settle();  // the source may change now
    source.fill_(-1);
    CHECK(seen.eq(2 * round).all().item<bool>());
  }
}

TEST_CASE("what is brought to the device is not copied before it may be overwritten") {
  if (test::num_gpus() == 0) {
    MESSAGE("skipped: no GPU here");
    return;
  }
  const at::Device device(at::kCUDA, 0);
  CpuOffload copies(device);
  const at::Tensor source = copies.empty(kElements, at::kFloat).fill_(1);
  const at::Tensor target = late(5, device);
  const at::Tensor read = target + 0;  // still under way when the copy is asked for
  copies.wait_for(copies.to_device([&] { target.copy_(source, /*non_blocking=*/true); }));
  CHECK(at::allclose(read, at::full_like(read, 5.0), 1e-3));
  CHECK(target.eq(1).all().item<bool>());
}
