#include "weights/device_chunks.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

namespace s2s {

void DeviceChunks::push(const at::Tensor& tensor, at::ScalarType type) {
  if (tensor.device().is_cpu()) {
    finish();
    const at::Tensor elements = tensor.detach().to(type).contiguous();
    use_(elements.const_data_ptr(), elements.nbytes());
    return;
  }
  const at::Tensor flat = tensor.detach().contiguous().view({-1});
  const int64_t step = chunk_bytes_ / static_cast<int64_t>(c10::elementSize(type));
  for (int64_t begin = 0; begin < flat.numel(); begin += step) {
    push_chunk(flat.narrow(0, begin, std::min(step, flat.numel() - begin)).to(type));
  }
}

void DeviceChunks::push_chunk(const at::Tensor& chunk) {
  Buffer& buffer = buffers_[next_];
  next_ = 1 - next_;
  drain(buffer);
  if (!buffer.memory.defined()) {
    buffer.memory =
        at::empty({chunk_bytes_}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
  }
  buffer.num_bytes = static_cast<int64_t>(chunk.nbytes());
  buffer.memory.narrow(0, 0, buffer.num_bytes)
      .view(chunk.scalar_type())
      .copy_(chunk, /*non_blocking=*/true);
  buffer.arrived.emplace(chunk.device().type());
  buffer.arrived->record(
      c10::impl::VirtualGuardImpl(chunk.device().type()).getStream(chunk.device()));
}

void DeviceChunks::drain(Buffer& buffer) {
  if (!buffer.arrived) return;
  buffer.arrived->synchronize();
  buffer.arrived.reset();
  use_(buffer.memory.const_data_ptr(), static_cast<size_t>(buffer.num_bytes));
}

void DeviceChunks::finish() {
  drain(buffers_[next_]);  // the older one
  drain(buffers_[1 - next_]);
}

}  // namespace s2s
