#pragma once
// float32 tensors of a small safetensors file, which may be compressed.

#include <ATen/Functions.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files/open_bytes.h"

namespace s2s::test {

class GoldenFile {
 public:
  explicit GoldenFile(const std::string& path) {
    bytes_ = files::read_all_bytes(path, "a file of golden vectors");
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes_.data(), sizeof header_bytes);
    data_ = 8 + header_bytes;
    header_ = nlohmann::json::parse(bytes_.substr(8, header_bytes));
  }
  std::string metadata(const std::string& key) const { return header_["__metadata__"][key]; }
  bool has(const std::string& name) const { return header_.contains(name); }
  at::Tensor tensor(const std::string& name) const {
    const auto& entry = header_.at(name);
    at::Tensor tensor = at::empty(entry["shape"].get<std::vector<int64_t>>(), at::kFloat);
    std::memcpy(tensor.data_ptr(), bytes_.data() + data_ + entry["data_offsets"][0].get<size_t>(),
                tensor.nbytes());
    return tensor;
  }

 private:
  std::string bytes_;
  size_t data_ = 0;
  nlohmann::json header_;
};

}  // namespace s2s::test
