#pragma once
// A weight file in memory.

#include <cstdint>
#include <string>

namespace s2s {

/// A private (copy-on-write) mapping of a whole file. Pages are read when they are touched.
class WeightMapping {
 public:
  /// Errors: [weights/unreadable]; an empty file gives a mapping of size 0.
  explicit WeightMapping(const std::string& path);
  ~WeightMapping();
  WeightMapping(const WeightMapping&) = delete;
  WeightMapping& operator=(const WeightMapping&) = delete;

  char* begin() const { return begin_; }
  uint64_t size() const { return size_; }

  /// Gives the memory of these bytes back; they are read again when they are touched again. What
  /// was written to views of them is lost. Units: bytes from the begin of the file.
  void release(uint64_t offset, uint64_t bytes) const;

 private:
  char* begin_ = nullptr;
  uint64_t size_ = 0;
};

/// Maps the pages of a range at once, before they are touched one by one: reading is faster. Does
/// nothing where the system cannot.
void map_pages(const void* begin, uint64_t bytes);

}  // namespace s2s
