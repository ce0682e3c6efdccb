#pragma once
// Maps a weight file into memory.

#include <cstdint>
#include <optional>
#include <string>

#include "base/mapped_file.h"

namespace s2s {

class WeightFiles;

/// A private (copy-on-write) mapping of a whole file. Pages are read on first access. If the file
/// is truncated meanwhile, the process ends with a message (base/mapped_file.h).
class WeightMapping {
 public:
  /// Errors: [weights/unreadable]. An empty file gives a mapping of size 0.
  explicit WeightMapping(const std::string& path);
  /// Maps an open file and takes ownership of it. `path` is for messages.
  WeightMapping(int file, const std::string& path);
  ~WeightMapping();
  WeightMapping(const WeightMapping&) = delete;
  WeightMapping& operator=(const WeightMapping&) = delete;

  char* begin() const { return begin_; }
  uint64_t size() const { return size_; }
  /// The open file, for reading.
  int file() const { return file_; }

  /// Copies bytes of the file without bringing pages of the mapping into memory. Faster than
  /// reading through views. Units: bytes. Errors: [weights/unreadable].
  void read(uint64_t offset, uint64_t bytes, void* to) const;

  /// Frees the memory pages of these bytes. They are read again on the next access. Values that
  /// were written to views of them are lost. Units: bytes from the begin of the file.
  void release(uint64_t offset, uint64_t bytes) const;

 private:
  std::string path_;
  int file_ = -1;
  char* begin_ = nullptr;
  uint64_t size_ = 0;
  std::optional<GuardedMapping> guard_;
};

/// The position of a tensor whose elements are contiguous in a file.
struct StoredBytes {
  const WeightMapping* mapping = nullptr;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// Returns the position of a tensor in one of several files, or nothing when its elements are not
/// contiguous. Errors: [weights/no-tensor].
std::optional<StoredBytes> stored_bytes(const WeightFiles& files, const std::string& name);

/// Maps the pages of a range at once, which is faster than page faults. Does nothing where the
/// system does not support it.
void map_pages(const void* begin, uint64_t bytes);

}  // namespace s2s
