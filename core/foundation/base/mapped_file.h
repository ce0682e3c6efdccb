#pragma once
// A file mapped into memory for reading.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/bus_guard.h"

namespace s2s {

/// Read-only view of a regular file. Empty files give an empty span. One that becomes shorter
/// while it is read, or cannot be read any more, ends the process with a message
/// (base/bus_guard.h).
class MappedFile {
 public:
  /// Errors: std::system_error when the file cannot be opened or mapped, or is not a regular file.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::optional<GuardedMapping> guard_;
};

}  // namespace s2s
