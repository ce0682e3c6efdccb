#include "weights/safetensors.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstring>

#include "weights/safetensors_header.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {

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
  if (it == entries_.end()) {
    std::vector<std::string> names;
    for (const auto& entry : entries_) names.push_back(entry.first);
    throw weights_errors::no_tensor(path_, name, names);
  }
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

}  // namespace s2s
