#pragma once
// Random access to the bytes of a file, which may be plain, compressed, or a command's output.

#include <cstdint>
#include <memory>
#include <string>

namespace s2s::files {

class ByteFile {
 public:
  virtual ~ByteFile() = default;
  ByteFile(const ByteFile&) = delete;
  ByteFile& operator=(const ByteFile&) = delete;

  /// The source as it was given: a path, or "pipe:CMD".
  const std::string& name() const { return name_; }
  /// Number of bytes of the content. It is decompressed for compressed files.
  virtual int64_t size() const = 0;
  /// Reads `num_bytes` from `offset`; the range must be inside the file. Thread-safe.
  /// Errors: [io/file], also when the file has become shorter; those of the source.
  virtual void read(int64_t offset, void* to, size_t num_bytes) const = 0;
  /// Whether `name` is a path whose bytes are the content.
  virtual bool is_plain() const { return false; }
  std::string read_text(int64_t offset, size_t num_bytes) const;

 protected:
  explicit ByteFile(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

/// A regular file. It stays open as long as the object exists.
class DiskFile : public ByteFile {
 public:
  /// Errors: [data/missing-file] with `expected`, [io/file].
  DiskFile(const std::string& path, const std::string& expected);
  ~DiskFile() override;
  int64_t size() const override { return size_; }
  void read(int64_t offset, void* to, size_t num_bytes) const override;
  bool is_plain() const override { return true; }
  /// Time of the last change in nanoseconds since 1970 (files/source_state.h).
  int64_t changed_ns() const { return changed_ns_; }
  /// Says, when it is compared later, whether the file has changed since it was opened.
  uint64_t stamp() const { return stamp_; }

 private:
  int file_ = -1;
  int64_t size_ = 0;
  int64_t changed_ns_ = 0;
  uint64_t stamp_ = 0;
};

/// Bytes in memory.
class MemoryFile : public ByteFile {
 public:
  MemoryFile(std::string name, std::shared_ptr<const std::string> bytes)
      : ByteFile(std::move(name)), bytes_(std::move(bytes)) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_->size()); }
  void read(int64_t offset, void* to, size_t num_bytes) const override;

 private:
  std::shared_ptr<const std::string> bytes_;
};

}  // namespace s2s::files
