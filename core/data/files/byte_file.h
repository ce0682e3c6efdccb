#pragma once
// Bytes at any place of a file, whether it lies plain on the disk, is compressed, or came out of a
// command.

#include <cstdint>
#include <memory>
#include <string>

namespace s2s::files {

class ByteFile {
 public:
  virtual ~ByteFile() = default;
  ByteFile(const ByteFile&) = delete;
  ByteFile& operator=(const ByteFile&) = delete;

  /// As in the options: a path, or "pipe:CMD".
  const std::string& name() const { return name_; }
  /// Bytes of content (of compressed files: decompressed).
  virtual int64_t size() const = 0;
  /// Exactly `num_bytes` from `offset`, which is within the file. Thread-safe.
  /// Errors: [io/file], also when the file has become shorter; those of the source.
  virtual void read(int64_t offset, void* to, size_t num_bytes) const = 0;
  /// True when `name` is a path whose bytes are the content.
  virtual bool is_plain() const { return false; }
  std::string read_text(int64_t offset, size_t num_bytes) const;

 protected:
  explicit ByteFile(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

/// A regular file; open while this lives.
class DiskFile : public ByteFile {
 public:
  /// Errors: [data/missing-file] with `expected`, [io/file].
  DiskFile(const std::string& path, const std::string& expected);
  ~DiskFile() override;
  int64_t size() const override { return size_; }
  void read(int64_t offset, void* to, size_t num_bytes) const override;
  bool is_plain() const override { return true; }
  /// Of the last change, nanoseconds since 1970 (files/source_state.h).
  int64_t changed_ns() const { return changed_ns_; }
  /// By which it is known that the file is as it was when it was opened.
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
