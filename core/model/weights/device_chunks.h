#pragma once
// Tensors of a device, read by the host in chunks.

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace s2s {

/// Passes the bytes of tensors to a function, in the order of `push`. Tensors on a device are
/// copied through two buffers of pinned memory: while the function has one, the other is filled.
class DeviceChunks {
 public:
  using Use = std::function<void(const void* data, size_t bytes)>;
  static constexpr int64_t kChunkBytes = int64_t{64} << 20;

  explicit DeviceChunks(Use use, int64_t chunk_bytes = kChunkBytes)
      : use_(std::move(use)), chunk_bytes_(chunk_bytes) {}

  /// Passes on the elements of `tensor` as `type`, now or at a later call.
  void push(const at::Tensor& tensor, at::ScalarType type);
  /// Passes on everything that was pushed.
  void finish();

 private:
  struct Buffer {
    at::Tensor memory;  // uint8, pinned
    int64_t num_bytes = 0;
    std::optional<c10::Event> arrived;  // set while the buffer is in use
  };
  void push_chunk(const at::Tensor& chunk);
  void drain(Buffer& buffer);

  Use use_;
  int64_t chunk_bytes_;
  Buffer buffers_[2];
  size_t next_ = 0;
};

}  // namespace s2s
