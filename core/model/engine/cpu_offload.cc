#include "engine/cpu_offload.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

namespace s2s {
namespace {

// Maximum number of sums kept on the device until they are copied.
constexpr size_t kMaxArrivals = 2;

}  // namespace

CpuOffload::CpuOffload(at::Device device) : device_(device), up_(device), down_(device) {}

at::Tensor CpuOffload::empty(int64_t numel, at::ScalarType type) const {
  return at::empty({numel}, at::TensorOptions().dtype(type).pinned_memory(!device_.is_cpu()));
}

void CpuOffload::bring(const at::Tensor& sum, const at::Tensor& total, bool is_first) {
  while (arrivals_.size() >= kMaxArrivals) settle_oldest();
  // Dtypes are converted on the host. The device sends the tensor as it is.
  const bool lands_in_place = is_first && sum.scalar_type() == total.scalar_type();
  Arrival arrival{sum, total, total, is_first, {}};
  if (!lands_in_place) arrival.landed = empty(sum.numel(), sum.scalar_type());
  if (!device_.is_cpu()) {
    arrival.mark = down_.run([&] { arrival.landed.copy_(sum, /*non_blocking=*/true); });
  }
  arrivals_.push_back(std::move(arrival));
}

void CpuOffload::settle_oldest() {
  const at::NoGradGuard no_grad;
  const Arrival arrival = std::move(arrivals_.front());
  arrivals_.pop_front();
  if (arrival.mark) {
    arrival.mark->synchronize();
  } else {
    arrival.landed.copy_(arrival.sum);
  }
  if (arrival.landed.is_same(arrival.total)) return;
  if (arrival.is_first) {
    arrival.total.copy_(arrival.landed);
  } else {
    arrival.total.add_(arrival.landed);
  }
}

void CpuOffload::settle() {
  while (!arrivals_.empty()) settle_oldest();
  up_.synchronize();
}

}  // namespace s2s
