#include <ATen/ATen.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "weights/safetensors.h"
#include "weights/safetensors_header.h"

namespace s2s {
namespace {

using Order = std::vector<const TensorMap::value_type*>;
using FloatType = std::optional<at::ScalarType>;

/// Widest elements first, then by name: every tensor is aligned, and the order is always the same.
Order data_order(const TensorMap& tensors, FloatType float_type) {
  const auto width = [&](const auto* entry) {
    return c10::elementSize(written_type(entry->second, float_type));
  };
  Order order;
  for (const auto& entry : tensors) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return width(a) > width(b); });
  return order;
}

/// A file whose checksums are made as it is written.
class CheckedFile {
 public:
  explicit CheckedFile(const std::string& path) : file_(path) {}
  void write(const void* data, size_t bytes) {
    stream_.add(data, bytes);
    file_.write(data, bytes);
  }
  FileChecksums commit() {
    file_.commit();
    return stream_.sums();
  }

 private:
  AtomicFile file_;
  ChecksumStream stream_;
};

}  // namespace

at::ScalarType written_type(const at::Tensor& tensor, FloatType float_type) {
  return float_type && tensor.is_floating_point() ? *float_type : tensor.scalar_type();
}

uint64_t written_bytes(const at::Tensor& tensor, FloatType float_type) {
  return static_cast<uint64_t>(tensor.numel()) * c10::elementSize(written_type(tensor, float_type));
}

FileChecksums write_safetensors(const std::string& path, const TensorMap& tensors,
                                const std::map<std::string, std::string>& metadata,
                                FloatType float_type) {
  const Order order = data_order(tensors, float_type);
  SafetensorsHeader header{metadata, {}};
  uint64_t offset = 0;
  for (const auto* entry : order) {
    const at::Tensor& tensor = entry->second;
    const uint64_t bytes = written_bytes(tensor, float_type);
    header.entries[entry->first] = {written_type(tensor, float_type), tensor.sizes().vec(), offset,
                                    offset + bytes};
    offset += bytes;
  }
  const std::string text = format_safetensors_header(path, header);
  unsigned char length[8];
  for (size_t i = 0; i < 8; ++i) {
    length[i] = static_cast<unsigned char>(static_cast<uint64_t>(text.size()) >> (8 * i));
  }
  CheckedFile file(path);
  file.write(length, sizeof length);
  file.write(text.data(), text.size());
  for (const auto* entry : order) {
    const at::Tensor& tensor = entry->second;
    const at::Tensor bytes =
        tensor.detach().to(at::kCPU, written_type(tensor, float_type)).contiguous();
    file.write(bytes.const_data_ptr(), bytes.nbytes());
  }
  return file.commit();
}

}  // namespace s2s
