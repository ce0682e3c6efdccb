#pragma once
// Copies between a device and host memory that overlap with computation. A CPU has no streams:
// copies to the device are immediate, and copies to the host are made when they are waited for.
// Not yet run on a GPU.

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/pinned_blocks.h"
#include "base/side_stream.h"

namespace s2s {

/// Moves the tensors that a strategy keeps in host memory to the device and back. Its calls come
/// from one thread at a time.
class CpuOffload {
 public:
  /// device: where the elements are used. piece_bytes: large sums are copied in pieces of this
  /// size.
  explicit CpuOffload(at::Device device, int64_t piece_bytes = PinnedBlocks::kBlockBytes);
  /// Waits for the sums that are on their way.
  ~CpuOffload();
  CpuOffload(const CpuOffload&) = delete;
  CpuOffload& operator=(const CpuOffload&) = delete;

  /// Returns an uninitialized tensor in host memory. If the device is a GPU, the memory is pinned,
  /// and is not given back before this object is destroyed.
  at::Tensor empty(int64_t numel, at::ScalarType type);
  bool keeps_memory() const { return !device_.is_cpu(); }

  /// Runs `body`, which copies to the device and starts the work that needs these elements.
  StreamMark to_device(const std::function<void()>& body) const { return up_.run(body); }
  void wait_for(const StreamMark& mark) const { up_.wait_for(mark); }

  /// Copies `sum` into `total` in host memory (is_first), or adds it to `total`. `total` is
  /// complete once `settle` returns. The dtypes may differ. Do not write to `sum` afterwards. With
  /// a GPU, a thread converts and adds what has arrived; this call waits only while older sums
  /// occupy too much memory. Errors: [run/threads], and those of earlier sums.
  void bring(const at::Tensor& sum, const at::Tensor& total, bool is_first);
  /// Waits until all results of `bring` are complete and all copies to the device have finished.
  /// Their sources may then be overwritten. Errors: those of `bring`.
  void settle();

 private:
  struct Piece {
    at::Tensor landed;  // destination of the copy: part of the total, or a temporary buffer
    at::Tensor total;
  };
  struct Arrival {
    at::Tensor sum;  // kept until the copy is complete
    std::vector<Piece> pieces;
    bool is_first;
    StreamMark mark;  // not set on a CPU, where `sum` is copied when it settles
  };
  Arrival begin(const at::Tensor& sum, const at::Tensor& total, bool is_first) const;
  static void land(const Arrival& arrival);
  void settle_until(size_t num_left);
  void run_thread();

  at::Device device_;
  int64_t piece_bytes_;
  PinnedBlocks blocks_;
  SideStream up_, down_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Arrival> arrivals_;  // the thread removes an arrival when it has landed
  std::exception_ptr trouble_;    // of the thread
  bool ends_ = false;
  std::thread thread_;  // not started on a CPU
};

}  // namespace s2s
