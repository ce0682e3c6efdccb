#pragma once
// Receives an unknown number of bytes piece by piece. A growing std::string copies its bytes, for
// which it needs two to three times the memory; this class moves pages instead.

#include <cstddef>
#include <string>

namespace s2s::files {

class GrowingBytes {
 public:
  GrowingBytes() = default;
  ~GrowingBytes();
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;

  /// Returns memory for `num_bytes` after the existing bytes. Errors: std::bad_alloc.
  char* room(size_t num_bytes);
  /// Adds `num_bytes` that were written to that memory.
  void add(size_t num_bytes) { size_ += num_bytes; }
  size_t size() const { return size_; }
  /// Moves all bytes out. Memory is freed while it is copied, so at most 16 MiB exist twice.
  std::string take();

 private:
  char* begin_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace s2s::files
