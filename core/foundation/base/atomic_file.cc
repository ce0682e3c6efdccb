#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <vector>

#include "base/io_errors.h"
#include "s2s/interrupted_calls.h"

namespace s2s {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = ".s2s-";
constexpr size_t kNumRandom = 6;
constexpr int kAttempts = 100;

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string random_text() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device device;
  std::string text;
  for (size_t i = 0; i < kNumRandom; ++i) text += kLetters[device() % kLetters.size()];
  return text;
}

std::string partial_path(const std::string& path) {
  const fs::path target = path;
  const std::string name = "." + target.filename().string() + std::string(kMark) + random_text();
  return (target.parent_path() / name).string();
}

bool is_partial_name(const std::string& name) {
  const size_t mark = name.rfind(kMark);
  return name.starts_with('.') && mark != std::string::npos && mark > 0 &&
         name.size() == mark + kMark.size() + kNumRandom;
}

/// Returns false if another process has the lock, and true if there are no locks.
bool lock(int file) { return flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

/// Whether an open file still has a name.
bool is_named(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && status.st_nlink > 0;
}

void remove_partial_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return;
  struct stat status {};
  const bool is_free =
      fstat(file, &status) == 0 && S_ISREG(status.st_mode) && flock(file, LOCK_EX | LOCK_NB) == 0;
  if (is_free) unlink(path.c_str());
  close(file);
}

/// Opens something that is not a file and is written directly: a terminal or a pipe. Returns -1 if
/// there is nothing like that. Opening a pipe waits for its reader.
int open_stream(const std::string& path) {
  struct stat status {};
  const bool is_there = stat(path.c_str(), &status) == 0;
  if (!is_there || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return -1;
  const bool is_stream = S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode);
  if (!is_stream) throw write_error(path, "is neither a file nor a stream", EINVAL);
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) throw write_error(path, "cannot open", errno);
  return file;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  file_ = open_stream(path_);
  if (file_ >= 0) return;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    temporary_ = partial_path(path_);
    // The kernel applies the umask to these permissions; mkstemp would use others.
    file_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno == EEXIST) continue;
    if (file_ < 0) break;
    // A process that removes partial files may have run between the two calls.
    if (lock(file_) && is_named(file_)) return;
    close(file_);
    file_ = -1;
    errno = EEXIST;
  }
  const int reason = errno;
  temporary_.clear();
  throw write_error(path_, "cannot create a temporary file in its folder", reason);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  if (file_ >= 0) close(file_);
  if (lock_ >= 0) close(lock_);
}

void AtomicFile::write(const void* data, size_t num_bytes) {
  const char* rest = static_cast<const char*>(data);
  InterruptedCalls interrupted;
  while (num_bytes > 0) {
    const ssize_t written = ::write(file_, rest, num_bytes);
    if (written < 0 && interrupted.again()) continue;
    if (written < 0) throw write_error(path_, "cannot write", errno);
    interrupted.reset();
    rest += written;
    num_bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  const bool is_stream = temporary_.empty();
  if (fsync(file_) != 0 && !(is_stream && errno == EINVAL)) {
    throw write_error(path_, "cannot sync it to disk", errno);
  }
  if (is_stream) return;
  lock_ = fcntl(file_, F_DUPFD_CLOEXEC, 0);
  if (lock_ < 0) throw write_error(path_, "cannot keep it open", errno);
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

void remove_partial_files(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
    if (is_partial_name(entry.path().filename().string()))
      remove_partial_file(entry.path().string());
  }
}

void make_folders(const std::string& path) {
  fs::path folder = fs::path(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // a slash at the end
  std::vector<fs::path> missing;                              // the deepest first
  std::error_code ignored;
  while (!folder.empty() && !fs::exists(folder, ignored)) {
    missing.push_back(folder);
    folder = folder.parent_path();
  }
  std::error_code problem;
  fs::create_directories(path, problem);
  if (problem) throw write_error(path, "cannot create the folder", problem.value());
  for (const fs::path& made : missing) sync_to_disk(folder_of(made.string()));
}

void sync_to_disk(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw write_error(path, "cannot open", errno);
  const int result = fsync(file);
  const int reason = errno;
  close(file);
  // Some file systems cannot sync a folder and say EINVAL.
  if (result != 0 && reason != EINVAL) throw write_error(path, "cannot sync it to disk", reason);
}

void rename_durably(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    throw write_error(to, "cannot rename " + from + " to it", errno);
  }
  sync_to_disk(folder_of(to));
}

}  // namespace s2s
