#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "weights/safetensors.h"
#include "weights/safetensors_header.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

/// A file that exists only when `commit` was reached.
class PendingFile {
 public:
  explicit PendingFile(std::string path)
      : path_(std::move(path)), pending_(path_ + ".pending-" + std::to_string(::getpid())) {
    file_ = ::open(pending_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0) throw weights_errors::write(path_, std::strerror(errno));
  }
  ~PendingFile() {
    if (file_ >= 0) ::close(file_);
    if (!committed_) std::remove(pending_.c_str());
  }
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  void append(const void* data, size_t size) {
    const char* next = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t written = ::write(file_, next, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw weights_errors::write(path_, std::strerror(errno));
      next += written;
      size -= static_cast<size_t>(written);
    }
  }

  void commit() {
    check(::fsync(file_) == 0);
    const int file = file_;
    file_ = -1;
    check(::close(file) == 0);
    check(std::rename(pending_.c_str(), path_.c_str()) == 0);
    committed_ = true;
    sync_folder();
  }

 private:
  void check(bool ok) const {
    if (!ok) throw weights_errors::write(path_, std::strerror(errno));
  }
  /// The new name itself must survive a power cut.
  void sync_folder() const {
    const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
    const int folder = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY);
    if (folder < 0) return;
    ::fsync(folder);
    ::close(folder);
  }

  std::string path_;
  std::string pending_;
  int file_ = -1;
  bool committed_ = false;
};

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
  PendingFile file(path);
  file.append(length, sizeof length);
  file.append(text.data(), text.size());
  for (const auto* entry : order) {
    const at::Tensor bytes = entry->second.detach().to(at::kCPU).contiguous();
    file.append(bytes.const_data_ptr(), bytes.nbytes());
  }
  file.commit();
}

}  // namespace s2s
