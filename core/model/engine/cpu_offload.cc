#include "engine/cpu_offload.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "s2s/threads.h"

namespace s2s {
namespace {

// Maximum number of sums kept on the device until they are copied.
constexpr size_t kMaxArrivals = 2;

}  // namespace

CpuOffload::CpuOffload(at::Device device, int64_t piece_bytes)
    : device_(device),
      piece_bytes_(piece_bytes),
      blocks_(/*is_pinned=*/!device.is_cpu()),
      up_(device),
      down_(device) {}

CpuOffload::~CpuOffload() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

at::Tensor CpuOffload::empty(int64_t numel, at::ScalarType type) {
  if (device_.is_cpu()) return at::empty({numel}, at::TensorOptions().dtype(type));
  const int64_t bytes = numel * static_cast<int64_t>(c10::elementSize(type));
  return blocks_.take(bytes, bytes).view(type);
}

/// Starts the copy to the host. Dtypes are converted there: the device sends the tensor as it is.
CpuOffload::Arrival CpuOffload::begin(const at::Tensor& sum, const at::Tensor& total,
                                      bool is_first) const {
  Arrival arrival{sum, {}, is_first, {}};
  if (is_first && sum.scalar_type() == total.scalar_type()) {
    arrival.pieces.push_back({total, total});
  } else {
    const int64_t step =
        device_.is_cpu() ? sum.numel() : piece_bytes_ / static_cast<int64_t>(sum.element_size());
    const auto options = at::TensorOptions().dtype(sum.scalar_type());
    for (int64_t from = 0; from < sum.numel(); from += step) {
      const int64_t numel = std::min(step, sum.numel() - from);
      arrival.pieces.push_back({at::empty({numel}, options.pinned_memory(!device_.is_cpu())),
                                total.narrow(0, from, numel)});
    }
  }
  if (device_.is_cpu()) return arrival;
  arrival.mark = down_.run([&] {
    int64_t from = 0;
    for (const Piece& piece : arrival.pieces) {
      piece.landed.copy_(sum.narrow(0, from, piece.landed.numel()), /*non_blocking=*/true);
      from += piece.landed.numel();
    }
  });
  return arrival;
}

void CpuOffload::land(const Arrival& arrival) {
  const at::NoGradGuard no_grad;
  if (arrival.mark) arrival.mark->synchronize();
  int64_t from = 0;
  for (const Piece& piece : arrival.pieces) {
    if (!arrival.mark) piece.landed.copy_(arrival.sum.narrow(0, from, piece.landed.numel()));
    from += piece.landed.numel();
    if (piece.landed.is_same(piece.total)) continue;
    if (arrival.is_first) {
      piece.total.copy_(piece.landed);
    } else {
      piece.total.add_(piece.landed);
    }
  }
}

void CpuOffload::bring(const at::Tensor& sum, const at::Tensor& total, bool is_first) {
  if (!device_.is_cpu() && !thread_.joinable()) {
    thread_ = start_thread([this] { run_thread(); });
  }
  settle_until(kMaxArrivals - 1);
  Arrival arrival = begin(sum, total, is_first);
  const std::lock_guard lock(mutex_);
  arrivals_.push_back(std::move(arrival));
  changed_.notify_all();
}

/// A CPU has nothing that goes on beside the caller, so the caller lands the sums.
void CpuOffload::settle_until(size_t num_left) {
  if (device_.is_cpu()) {
    for (; arrivals_.size() > num_left; arrivals_.pop_front()) land(arrivals_.front());
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return trouble_ || arrivals_.size() <= num_left; });
  if (trouble_) std::rethrow_exception(trouble_);
}

void CpuOffload::run_thread() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !arrivals_.empty(); });
    if (arrivals_.empty()) return;
    const Arrival& oldest = arrivals_.front();
    lock.unlock();
    std::exception_ptr trouble;
    try {
      land(oldest);
    } catch (...) {
      trouble = std::current_exception();
    }
    lock.lock();
    if (trouble) {
      trouble_ = trouble;
      arrivals_.clear();
    } else {
      arrivals_.pop_front();
    }
    changed_.notify_all();
  }
}

void CpuOffload::settle() {
  settle_until(0);
  up_.synchronize();
}

}  // namespace s2s
