#pragma once
// Regular files: open for reading, or mapped into memory.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "base/bus_guard.h"

namespace s2s {

/// A regular file that is open for reading.
class RegularFile {
 public:
  /// Errors: std::system_error when the file cannot be opened or is not a regular file.
  explicit RegularFile(const std::string& path)
      // Without O_NONBLOCK, opening a named pipe would wait for a writer.
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail(errno);
    struct stat status {};
    const int code = ::fstat(descriptor_, &status) != 0 ? errno
                     : S_ISREG(status.st_mode)          ? 0
                     : S_ISDIR(status.st_mode)          ? EISDIR
                                                        : EINVAL;
    if (code != 0) {
      ::close(descriptor_);
      fail(code);
    }
    size_ = static_cast<size_t>(status.st_size);
  }
  ~RegularFile() { ::close(descriptor_); }
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  int descriptor() const { return descriptor_; }
  /// Bytes when it was opened. Files of /proc have no size and some content.
  size_t size() const { return size_; }
  /// Bytes at this moment.
  size_t size_now() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
  }
  /// A std::system_error of this code that names the file.
  [[noreturn]] void fail(int code) const {
    throw std::system_error(code, std::generic_category(), path_);
  }

 private:
  std::string path_;
  int descriptor_;
  size_t size_ = 0;
};

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
