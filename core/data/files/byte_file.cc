#include "files/byte_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "files/files_errors.h"
#include "files/source_state.h"
#include "s2s/interrupted_calls.h"

namespace s2s::files {

std::string ByteFile::read_text(int64_t offset, size_t num_bytes) const {
  std::string text(num_bytes, '\0');
  read(offset, text.data(), num_bytes);
  return text;
}

DiskFile::DiskFile(const std::string& path, const std::string& expected) : ByteFile(path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    throw files_errors::missing_file(path, expected);
  }
  if (file_ < 0) throw files_errors::unreadable_file(path, std::strerror(errno));
  struct stat status {};
  const int code = fstat(file_, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  if (code != 0 || !S_ISREG(status.st_mode)) {
    close(file_);
    throw files_errors::unreadable_file(path, code != 0 ? std::strerror(code) : "not a file");
  }
  size_ = status.st_size;
  changed_ns_ = files::changed_ns(status);
  stamp_ = stamp_of(status);
}

DiskFile::~DiskFile() { close(file_); }

void DiskFile::read(int64_t offset, void* to, size_t num_bytes) const {
  char* rest = static_cast<char*>(to);
  InterruptedCalls interrupted;
  while (num_bytes > 0) {
    const ssize_t got = pread(file_, rest, num_bytes, offset);
    if (got < 0 && interrupted.again()) continue;
    if (got < 0) throw files_errors::unreadable_file(name(), std::strerror(errno));
    if (got == 0) {
      throw files_errors::unreadable_file(
          name(), "it ends at byte " + std::to_string(offset) + " and had been longer");
    }
    interrupted.reset();
    rest += got;
    offset += got;
    num_bytes -= static_cast<size_t>(got);
  }
}

void MemoryFile::read(int64_t offset, void* to, size_t num_bytes) const {
  S2S_ASSERT(offset >= 0 && num_bytes <= bytes_->size() &&
                 static_cast<size_t>(offset) <= bytes_->size() - num_bytes,
             "the caller knows the size");
  std::memcpy(to, bytes_->data() + offset, num_bytes);
}

}  // namespace s2s::files
