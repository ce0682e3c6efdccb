#include "weights/weight_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/io_errors.h"
#include "s2s/interrupted_calls.h"
#include "weights/weights_errors.h"

namespace s2s {

namespace {

// Without O_NONBLOCK, opening a named pipe would block.
int open_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && !says_no_file(errno)) throw read_error(path, errno);
  if (file < 0) throw weights_errors::unreadable(path, std::strerror(errno));
  return file;
}

}  // namespace

WeightMapping::WeightMapping(const std::string& path) : WeightMapping(open_file(path), path) {}

WeightMapping::WeightMapping(int file, const std::string& path) : path_(path), file_(file) {
  struct stat facts {};
  const bool is_file = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  if (is_file) size_ = static_cast<uint64_t>(facts.st_size);
  void* begin = nullptr;
  if (size_ > 0) begin = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  const int why = errno;
  if (is_file && begin != MAP_FAILED) {
    begin_ = static_cast<char*>(begin);
    guard_.emplace(begin_, size_, path);
    return;
  }
  ::close(file);
  if (is_file) throw read_error(path, why);
  throw weights_errors::unreadable(path, "not a regular file");
}

WeightMapping::~WeightMapping() {
  guard_.reset();
  if (begin_ != nullptr) ::munmap(begin_, size_);
  ::close(file_);
}

void WeightMapping::read(uint64_t offset, uint64_t bytes, void* to) const {
  auto* next = static_cast<char*>(to);
  InterruptedCalls interrupted;
  while (bytes > 0) {
    const ssize_t count = ::pread(file_, next, bytes, static_cast<off_t>(offset));
    if (count < 0 && interrupted.again()) continue;
    if (count < 0) throw read_error(path_, errno);
    if (count == 0) throw weights_errors::unreadable(path_, "it became shorter while it was read");
    interrupted.reset();
    next += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
  }
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
  // Only complete pages, so that adjacent data stays.
  const uint64_t first = (offset + page - 1) / page * page;
  const uint64_t last = (offset + bytes) / page * page;
  if (first < last) ::madvise(begin_ + first, last - first, MADV_DONTNEED);
}

}  // namespace s2s
