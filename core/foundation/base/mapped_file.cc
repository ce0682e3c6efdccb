#include "base/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>

namespace s2s {

MappedFile::MappedFile(const std::string& path) {
  const RegularFile file(path);
  size_ = file.size();
  if (size_ == 0) return;
  void* const start = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (start == MAP_FAILED) file.fail(errno);
  data_ = static_cast<const std::byte*>(start);
  guard_.emplace(start, size_, path);
}

MappedFile::~MappedFile() {
  guard_.reset();
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace s2s
