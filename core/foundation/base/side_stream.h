#pragma once
// Work that overlaps with the computation of a device's current stream. A CPU has no streams, so
// there all work is done at once.

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <functional>
#include <optional>
#include <vector>

namespace s2s {

/// A position in a stream, as an event. Not set on a CPU.
using StreamMark = std::optional<c10::Event>;

/// A stream beside the current one.
class SideStream {
 public:
  explicit SideStream(at::Device device);
  /// Runs `body` on this stream. Its work starts after all work so far on the current stream, and
  /// overlaps with later work. Returns a mark after the work of `body`. Memory that `body` uses
  /// must be allocated before.
  StreamMark run(const std::function<void()>& body) const;
  /// Does the same, but the work starts at once, before earlier work of the current stream has
  /// ended. `body` allocates the memory that it writes to, and reads no memory of the device. Pass
  /// what the current stream uses of this memory to `hand_over`.
  StreamMark run_ahead(const std::function<void()>& body) const;
  /// Later work on the current stream waits for the mark.
  void wait_for(const StreamMark& mark) const;
  /// Says that the current stream uses `tensor`, which the body of `run_ahead` allocated. Its
  /// memory is not reused for other tensors before that work has ended.
  void hand_over(const at::Tensor& tensor) const;
  void synchronize() const;

 private:
  std::optional<c10::Stream> stream_;  // not set on a CPU
};

/// Copies numbers from a device to the host. The host does not wait before `read`.
class LateNumbers {
 public:
  LateNumbers() = default;
  /// numbers: float64, one dim. The copy starts when the current stream has computed them.
  explicit LateNumbers(const at::Tensor& numbers);
  /// Waits until the copy has ended. The device may have later work.
  std::vector<double> read() const;

 private:
  at::Tensor here_;
  StreamMark mark_;
};

}  // namespace s2s
