#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/io_errors.h"

namespace s2s {

namespace {

/// What the process's umask leaves of rw-rw-rw-, which mkstemp does not give.
mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return static_cast<mode_t>(0666) & ~mask;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".XXXXXX") {
  file_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (file_ < 0) throw write_error(path_, "cannot make a file beside it", errno);
  fchmod(file_, usual_mode());
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t num_bytes) {
  const char* rest = static_cast<const char*>(data);
  while (num_bytes > 0) {
    const ssize_t written = ::write(file_, rest, num_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw write_error(path_, "cannot write", errno);
    rest += written;
    num_bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  if (fsync(file_) != 0) throw write_error(path_, "cannot put it on the disk", errno);
  const int closed = close(file_);
  file_ = -1;
  if (closed != 0) throw write_error(path_, "cannot close", errno);
  rename_durably(temporary_, path_);
  temporary_.clear();
}

void write_file_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void sync_to_disk(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw write_error(path, "cannot open", errno);
  const int result = fsync(file);
  const int reason = errno;
  close(file);
  // Some file systems cannot sync a folder and say EINVAL.
  if (result != 0 && reason != EINVAL) throw write_error(path, "cannot put it on the disk", reason);
}

void rename_durably(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    throw write_error(to, "cannot rename " + from + " to it", errno);
  }
  sync_to_disk(folder_of(to));
}

}  // namespace s2s
