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

// A file may become shorter while it is mapped. Access to a missing part then raises SIGBUS, which
// would end the process without a message. So mappings are guarded: the process ends with a message
// and the exit code of bad data. If a disk or a server does not deliver a page, SIGBUS is raised,
// too; then a message is printed and the signal ends the process, so that a launcher can restart
// it. Where bytes are copied anyway, pread is used, which returns an error.

/// A mapping of a file that other processes may truncate. Thread-safe.
class GuardedMapping {
 public:
  /// begin, bytes: the mapping; nothing is guarded if `begin` is null. `path` is for the message.
  GuardedMapping(const void* begin, size_t bytes, const std::string& path);
  ~GuardedMapping();
  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;

 private:
  std::string path_, shown_;
  void* slot_ = nullptr;
};

/// For handlers of SIGBUS. If `address` is in a guarded mapping of a file that became shorter, ends
/// the process with one message and exit code 5. Otherwise returns, with a message if the page
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
  /// Size when the file was opened. Files of /proc have size 0, but may have content.
  size_t size() const { return size_; }
  /// Current size.
  size_t size_now() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
  }
  /// Throws a std::system_error with this code that names the file.
  [[noreturn]] void fail(int code) const {
    throw std::system_error(code, std::generic_category(), path_);
  }

 private:
  std::string path_;
  int descriptor_;
  size_t size_ = 0;
};

/// A read-only view of a regular file. An empty file gives an empty span. If the file becomes
/// shorter or cannot be read any more while it is in use, the process ends with a message.
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
