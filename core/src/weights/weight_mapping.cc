#include "weights/weight_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weights/weights_errors.h"

namespace s2s {

WeightMapping::WeightMapping(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) throw weights_errors::unreadable(path, std::strerror(errno));
  struct stat facts {};
  const bool is_file = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  if (is_file) size_ = static_cast<uint64_t>(facts.st_size);
  void* begin = nullptr;
  if (size_ > 0) begin = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  const int why = errno;
  ::close(file);
  if (!is_file) throw weights_errors::unreadable(path, "not a regular file");
  if (begin == MAP_FAILED) throw weights_errors::unreadable(path, std::strerror(why));
  begin_ = static_cast<char*>(begin);
}

WeightMapping::~WeightMapping() {
  if (begin_ != nullptr) ::munmap(begin_, size_);
}

namespace {

uint64_t page_bytes() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

void map_pages(const void* begin, uint64_t bytes) {
#ifdef MADV_POPULATE_READ
  const auto first = reinterpret_cast<uint64_t>(begin) / page_bytes() * page_bytes();
  const auto last = reinterpret_cast<uint64_t>(begin) + bytes;
  ::madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_READ);
#else
  static_cast<void>(begin), static_cast<void>(bytes);
#endif
}

void WeightMapping::release(uint64_t offset, uint64_t bytes) const {
  const uint64_t page = page_bytes();
  const uint64_t first = (offset + page - 1) / page * page;  // whole pages only: neighbours stay
  const uint64_t last = (offset + bytes) / page * page;
  if (first < last) ::madvise(begin_ + first, last - first, MADV_DONTNEED);
}

}  // namespace s2s
