#include "files/growing_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace s2s::files {

namespace {

constexpr size_t kFirstBytes = size_t{1} << 20;
constexpr size_t kStepBytes = size_t{16} << 20;

}  // namespace

GrowingBytes::~GrowingBytes() {
  if (begin_ != nullptr) munmap(begin_, capacity_);
}

char* GrowingBytes::room(size_t num_bytes) {
  if (capacity_ - size_ >= num_bytes) return begin_ + size_;
  const size_t wanted = std::max({kFirstBytes, 2 * capacity_, size_ + num_bytes});
  void* const grown = begin_ == nullptr ? mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                        : mremap(begin_, capacity_, wanted, MREMAP_MAYMOVE);
  if (grown == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<char*>(grown);
  capacity_ = wanted;
  return begin_ + size_;
}

std::string GrowingBytes::take() {
  std::string all;
  all.reserve(size_);
  for (size_t at = 0; at < size_; at += kStepBytes) {
    const size_t step = std::min(kStepBytes, size_ - at);
    all.append(begin_ + at, step);
    if (step == kStepBytes) madvise(begin_ + at, step, MADV_DONTNEED);
  }
  if (begin_ != nullptr) munmap(std::exchange(begin_, nullptr), capacity_);
  size_ = capacity_ = 0;
  return all;
}

}  // namespace s2s::files
