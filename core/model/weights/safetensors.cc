#include "weights/safetensors.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/atomic_file.h"
#include "weights/device_chunks.h"
#include "weights/safetensors_header.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using Order = std::vector<const TensorMap::value_type*>;
using FloatType = std::optional<at::ScalarType>;

/// Sorts by element size (largest first), then by name. Every tensor is then aligned, and the order
/// is deterministic.
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

/// A file whose checksums are computed while it is written.
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

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file;
  file.path_ = path;
  file.mapping_ = std::make_shared<WeightMapping>(path);
  const WeightMapping& mapping = *file.mapping_;
  if (mapping.size() == 0) throw weights_errors::format(path, "the file is empty");
  if (mapping.size() < 8) {
    throw weights_errors::format(path,
                                 fmt::format("{} bytes, expected at least 8", mapping.size()));
  }
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) {
    length = (length << 8U) | static_cast<unsigned char>(mapping.begin()[i]);
  }
  if (length > kMaxHeaderBytes || length > mapping.size() - 8) {
    throw weights_errors::format(
        path, fmt::format("the header would be {} bytes long, the file has {} (limit {})", length,
                          mapping.size(), kMaxHeaderBytes));
  }
  file.data_begin_ = 8 + length;
  SafetensorsHeader header = parse_safetensors_header(path, {mapping.begin() + 8, length},
                                                      mapping.size() - file.data_begin_);
  file.metadata_ = std::move(header.metadata);
  file.entries_ = std::move(header.entries);
  return file;
}

at::Tensor SafetensorsFile::tensor(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) throw weights_errors::no_tensor(path_, name, entries_);
  const SafetensorsEntry& entry = it->second;
  const auto options = at::TensorOptions().dtype(entry.dtype);
  if (entry.begin == entry.end) return at::empty(entry.sizes, options);
  char* begin = mapping_->begin() + data_begin_ + entry.begin;
  const bool is_aligned = reinterpret_cast<uintptr_t>(begin) % c10::elementSize(entry.dtype) == 0;
  if (is_aligned) {
    return at::from_blob(
        begin, entry.sizes, [keep = mapping_](void*) {}, options);
  }
  at::Tensor copy = at::empty(entry.sizes, options);
  std::memcpy(copy.mutable_data_ptr(), begin, entry.end - entry.begin);
  return copy;
}

std::optional<StoredBytes> SafetensorsFile::stored_bytes(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return std::nullopt;
  return StoredBytes{mapping_.get(), data_begin_ + it->second.begin,
                     it->second.end - it->second.begin};
}

void SafetensorsFile::release(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return;
  mapping_->release(data_begin_ + it->second.begin, it->second.end - it->second.begin);
}

TensorMap SafetensorsFile::tensors(const std::string& prefix) const {
  TensorMap found;
  for (const auto& [name, entry] : entries_) {
    if (name.compare(0, prefix.size(), prefix) == 0)
      found[name.substr(prefix.size())] = tensor(name);
  }
  return found;
}

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
  DeviceChunks chunks([&file](const void* data, size_t bytes) { file.write(data, bytes); });
  for (const auto* entry : order) {
    chunks.push(entry->second, written_type(entry->second, float_type));
  }
  chunks.finish();
  return file.commit();
}

}  // namespace s2s
