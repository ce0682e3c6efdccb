#pragma once
// A weight file in memory.

#include <cstdint>
#include <optional>
#include <string>

#include "base/mapped_file.h"

namespace s2s {

class WeightFiles;

/// A private (copy-on-write) mapping of a whole file. Pages are read when they are touched; a file
/// that becomes shorter meanwhile ends the process with a message (base/mapped_file.h).
class WeightMapping {
 public:
  /// Errors: [weights/unreadable]; an empty file gives a mapping of size 0.
  explicit WeightMapping(const std::string& path);
  /// Of an open file, which becomes the mapping's own. `path` is for messages.
  WeightMapping(int file, const std::string& path);
  ~WeightMapping();
  WeightMapping(const WeightMapping&) = delete;
  WeightMapping& operator=(const WeightMapping&) = delete;

  char* begin() const { return begin_; }
  uint64_t size() const { return size_; }

  /// Copies bytes of the file, past the mapping: no page of it comes into memory. Faster than
  /// touching views. Units: bytes. Errors: [weights/unreadable].
  void read(uint64_t offset, uint64_t bytes, void* to) const;

  /// Gives the memory of these bytes back; they are read again when they are touched again. What
  /// was written to views of them is lost. Units: bytes from the begin of the file.
  void release(uint64_t offset, uint64_t bytes) const;

 private:
  std::string path_;
  int file_ = -1;
  char* begin_ = nullptr;
  uint64_t size_ = 0;
  std::optional<GuardedMapping> guard_;
};

/// Where a tensor's elements lie one after the other.
struct StoredBytes {
  const WeightMapping* mapping = nullptr;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// The same for a tensor in one of several files; nothing where its elements do not follow each
/// other. Errors: [weights/no-tensor].
std::optional<StoredBytes> stored_bytes(const WeightFiles& files, const std::string& name);

/// Maps the pages of a range at once, before they are touched one by one: reading is faster. Does
/// nothing where the system cannot.
void map_pages(const void* begin, uint64_t bytes);

}  // namespace s2s
