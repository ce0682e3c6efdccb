#pragma once
// Bytes of unknown number, received piece by piece. A std::string that grows copies what it has,
// and needs two to three times as much memory for that; this moves pages instead.

#include <cstddef>
#include <string>

namespace s2s::files {

class GrowingBytes {
 public:
  GrowingBytes() = default;
  ~GrowingBytes();
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;

  /// Room for `num_bytes` behind those that there are. Errors: std::bad_alloc.
  char* room(size_t num_bytes);
  /// `num_bytes` of the room have been written.
  void add(size_t num_bytes) { size_ += num_bytes; }
  size_t size() const { return size_; }
  /// All of them, and none stay here. What has been copied is given back at once: never more than
  /// 16 MiB are held twice.
  std::string take();

 private:
  char* begin_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace s2s::files
