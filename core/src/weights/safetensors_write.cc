#include <ATen/ATen.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "weights/safetensors.h"
#include "weights/safetensors_header.h"

namespace s2s {
namespace {

using Order = std::vector<const TensorMap::value_type*>;

/// Widest elements first, then by name: every tensor is aligned, and the order is always the same.
Order data_order(const TensorMap& tensors) {
  Order order;
  for (const auto& entry : tensors) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.element_size() > b->second.element_size();
  });
  return order;
}

}  // namespace

void write_safetensors(const std::string& path, const TensorMap& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const Order order = data_order(tensors);
  SafetensorsHeader header{metadata, {}};
  uint64_t offset = 0;
  for (const auto* entry : order) {
    const at::Tensor& tensor = entry->second;
    const uint64_t bytes = static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
    header.entries[entry->first] = {tensor.scalar_type(), tensor.sizes().vec(), offset,
                                    offset + bytes};
    offset += bytes;
  }
  const std::string text = format_safetensors_header(path, header);
  unsigned char length[8];
  for (size_t i = 0; i < 8; ++i) {
    length[i] = static_cast<unsigned char>(static_cast<uint64_t>(text.size()) >> (8 * i));
  }
  AtomicFile file(path);
  file.write(length, sizeof length);
  file.write(text.data(), text.size());
  for (const auto* entry : order) {
    const at::Tensor bytes = entry->second.detach().to(at::kCPU).contiguous();
    file.write(bytes.const_data_ptr(), bytes.nbytes());
  }
  file.commit();
}

}  // namespace s2s
