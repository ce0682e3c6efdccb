#pragma once
// Copies between a device and the host's memory that go on while the device computes. On a CPU
// there are no streams: what goes to the device is there at once, what comes from it is when it is
// waited for.

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <deque>
#include <functional>
#include <optional>

namespace s2s {

/// A place in what a stream does; none on a CPU.
using StreamMark = std::optional<c10::Event>;

/// A stream beside the one that computes.
class SideStream {
 public:
  explicit SideStream(at::Device device);
  /// What `body` starts begins when all is done that the current stream has been given so far, and
  /// goes on beside what it is given from now on. The mark is behind it. Memory that `body` uses
  /// is allocated before.
  StreamMark run(const std::function<void()>& body) const;
  /// What the current stream is given from now on begins behind the mark.
  void wait_for(const StreamMark& mark) const;
  /// Returns when all is done.
  void synchronize() const;

 private:
  std::optional<c10::Stream> stream_;  // none on a CPU
};

/// What a strategy keeps in the host's memory, on its way there and back.
class CpuOffload {
 public:
  /// device: where the elements are used.
  explicit CpuOffload(at::Device device);

  /// Undefined elements in the host's memory, pinned when the device is a GPU.
  at::Tensor empty(int64_t numel, at::ScalarType type) const;

  /// `body` copies to the device, and starts what needs these elements.
  StreamMark to_device(const std::function<void()>& body) const { return up_.run(body); }
  void wait_for(const StreamMark& mark) const { up_.wait_for(mark); }

  /// `total`, in the host's memory, becomes `sum` (is_first), or grows by it, until `settle`
  /// returns. The dtypes may differ. `sum` is not written to any more.
  void bring(const at::Tensor& sum, const at::Tensor& total, bool is_first);
  /// All that was brought is there, and what went to the device may be overwritten.
  void settle();

 private:
  struct Arrival {
    at::Tensor sum;     // kept until the copy has been made
    at::Tensor landed;  // where it is copied to: `total`, or memory beside it
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
