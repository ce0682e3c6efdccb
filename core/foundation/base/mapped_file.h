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

namespace s2s {

// Files may become shorter while they are mapped: touching what is gone is SIGBUS, which would end
// the process without a word. Whoever maps a file guards the mapping, and the process ends with a
// message and the exit code of bad data. A page that a disk or a server does not give is SIGBUS,
// too: the message says so, and the signal ends the process, so that a launcher starts it again.
// Where bytes are copied anyway, pread says it as an error.

/// A mapping of a file that others might cut while this lives. Thread-safe.
class GuardedMapping {
 public:
  /// begin, bytes: of the mapping; nothing is guarded when `begin` is null. `path` is for the
  /// message.
  GuardedMapping(const void* begin, size_t bytes, const std::string& path);
  ~GuardedMapping();
  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;

 private:
  std::string path_, shown_;
  void* slot_ = nullptr;
};

/// For handlers of SIGBUS: ends the process with one message and exit code 5 when `address` lies in
/// a guarded mapping of a file that became shorter. Returns otherwise, with a message when the page
/// could not be read. Async-signal-safe.
void end_if_mapping_was_cut(const void* address);

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
/// while it is read, or cannot be read any more, ends the process with a message.
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
