#include "engine/flat_memory.h"

#include <ATen/ATen.h>
#include <sys/mman.h>

#include <algorithm>

namespace s2s {
namespace {

constexpr size_t kOwnPages = 1 << 20;  // minimum size in bytes of a separate mapping

struct Mapping {
  void* data;
  size_t bytes;
};

void unmap(void* context) {
  auto* const mapping = static_cast<Mapping*>(context);
  ::munmap(mapping->data, mapping->bytes);
  delete mapping;
}

/// Maps separate pages: large heap allocations that are freed repeatedly would fragment the heap.
c10::DataPtr map_pages(size_t bytes, c10::Device device) {
  void* const data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TORCH_CHECK(data != MAP_FAILED, "cannot allocate ", bytes, " bytes");
  return {data, new Mapping{data, bytes}, &unmap, device};
}

size_t num_bytes_of(const at::Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * tensor.element_size();
}

void set_memory(const at::Tensor& tensor, c10::DataPtr data, size_t bytes) {
  c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(std::move(data));
  storage->set_nbytes(bytes);
}

}  // namespace

c10::DataPtr FlatMemory::take(size_t bytes, c10::StorageImpl& storage) {
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [bytes](const auto& entry) { return entry.first == bytes; });
  if (found != free_.end()) {
    c10::DataPtr data = std::move(found->second);
    free_.erase(found);
    return data;
  }
  if (storage.device_type() == c10::DeviceType::CPU && bytes >= kOwnPages) {
    return map_pages(bytes, storage.device());
  }
  return storage.allocator()->allocate(bytes);
}

at::Tensor FlatMemory::tensor(int64_t numel, const at::TensorOptions& options) {
  at::Tensor tensor = at::empty({0}, options);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({numel});
  restore(tensor);
  return tensor;
}

void FlatMemory::free(const at::Tensor& tensor) {
  c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
  const size_t bytes = storage->nbytes();
  if (bytes == 0) return;
  c10::DataPtr data = storage->set_data_ptr(c10::DataPtr(nullptr, storage->device()));
  storage->set_nbytes(0);
  // A GPU's caching allocator keeps free memory itself, for all users.
  if (storage->device_type() == c10::DeviceType::CPU) free_.emplace_back(bytes, std::move(data));
}

void FlatMemory::forget_but(size_t bytes) {
  std::erase_if(free_, [bytes](const auto& entry) { return entry.first != bytes; });
}

void FlatMemory::restore(const at::Tensor& tensor) {
  const size_t bytes = num_bytes_of(tensor);
  c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
  if (bytes == 0 || storage->nbytes() == bytes) return;
  set_memory(tensor, take(bytes, *storage), bytes);
}

}  // namespace s2s
