#pragma once
// Copies between a device and host memory that overlap with computation. A CPU has no streams:
// copies to the device are immediate, and copies to the host are made when they are waited for.

#include <ATen/core/Tensor.h>

#include <deque>
#include <functional>

#include "base/side_stream.h"

namespace s2s {

/// Moves the tensors that a strategy keeps in host memory to the device and back.
class CpuOffload {
 public:
  /// device: where the elements are used.
  explicit CpuOffload(at::Device device);

  /// Returns an uninitialized tensor in host memory, pinned when the device is a GPU.
  at::Tensor empty(int64_t numel, at::ScalarType type) const;

  /// Runs `body`, which copies to the device and starts the work that needs these elements.
  StreamMark to_device(const std::function<void()>& body) const { return up_.run(body); }
  void wait_for(const StreamMark& mark) const { up_.wait_for(mark); }

  /// Copies `sum` into `total` in host memory (is_first), or adds it to `total`. `total` is
  /// complete once `settle` returns. The dtypes may differ. Do not write to `sum` afterwards.
  void bring(const at::Tensor& sum, const at::Tensor& total, bool is_first);
  /// Waits until all results of `bring` are complete and all copies to the device have finished.
  /// Their sources may then be overwritten.
  void settle();

 private:
  struct Arrival {
    at::Tensor sum;     // kept until the copy is complete
    at::Tensor landed;  // destination of the copy: `total`, or a temporary buffer
    at::Tensor total;
    bool is_first;
    StreamMark mark;
  };
  void settle_oldest();

  at::Device device_;
  SideStream up_, down_;
  std::deque<Arrival> arrivals_;
};

}  // namespace s2s
