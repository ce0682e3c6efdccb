// The library of README.md: the names of the C library that it takes over.

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "faults/file_calls.h"

using namespace s2s_faults;

namespace {

/// Takes one part of a vector at a time, as far as the verdicts let it.
template <class Call>
ssize_t each_part(const iovec* parts, int num_parts, const Call& call) {
  ssize_t total = 0;
  for (int i = 0; i < num_parts; ++i) {
    if (parts[i].iov_len == 0) continue;
    const ssize_t count = call(parts[i].iov_base, parts[i].iov_len);
    if (count < 0) return total > 0 ? total : -1;
    total += count;
    if (static_cast<size_t>(count) < parts[i].iov_len) break;
  }
  return total;
}

/// Bytes that the kernel moves from file to file.
template <class Call>
ssize_t moved(int to, size_t count, const Call& call) {
  char path[kPathBytes] = {};
  const Verdict verdict = decide_on(kWrite, to, path);
  if (verdict.fails) return -1;
  const ssize_t written = call(shortened(verdict, count));
  if (written > 0 && path[0] != '\0' && is_recording()) {
    record_written(to, path, position(to) - written, static_cast<size_t>(written));
  }
  return written;
}

}  // namespace

extern "C" {

#define S2S_OPEN(name)                             \
  int name(const char* path, int flags, ...) {     \
    va_list arguments;                             \
    va_start(arguments, flags);                    \
    const mode_t mode = mode_of(flags, arguments); \
    va_end(arguments);                             \
    return open_at(AT_FDCWD, path, flags, mode);   \
  }
#define S2S_OPENAT(name)                                   \
  int name(int folder, const char* path, int flags, ...) { \
    va_list arguments;                                     \
    va_start(arguments, flags);                            \
    const mode_t mode = mode_of(flags, arguments);         \
    va_end(arguments);                                     \
    return open_at(folder, path, flags, mode);             \
  }
S2S_OPEN(open)
S2S_OPEN(open64)
S2S_OPENAT(openat)
S2S_OPENAT(openat64)
int __open_2(const char* path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
int creat(const char* path, mode_t mode) {
  return open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
int creat64(const char* path, mode_t mode) { return creat(path, mode); }
FILE* fopen(const char* path, const char* mode) { return open_stream("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return open_stream("fopen64", path, mode); }
int mkostemp(char* pattern, int flags) { return open_temporary("mkostemp", pattern, flags); }
int mkostemp64(char* pattern, int flags) { return open_temporary("mkostemp64", pattern, flags); }
int mkstemp(char* pattern) { return open_temporary("mkostemp", pattern, 0); }
int mkstemp64(char* pattern) { return open_temporary("mkostemp64", pattern, 0); }

ssize_t read(int file, void* data, size_t count) { return read_at(file, data, count, -1); }
ssize_t __read_chk(int file, void* data, size_t count, size_t) {
  return read_at(file, data, count, -1);
}
ssize_t pread(int file, void* data, size_t count, off_t offset) {
  return read_at(file, data, count, offset);
}
ssize_t pread64(int file, void* data, size_t count, off64_t offset) {
  return read_at(file, data, count, offset);
}
ssize_t readv(int file, const iovec* parts, int num_parts) {
  return each_part(parts, num_parts,
                   [&](void* data, size_t count) { return read_at(file, data, count, -1); });
}
ssize_t write(int file, const void* data, size_t count) { return write_at(file, data, count, -1); }
ssize_t pwrite(int file, const void* data, size_t count, off_t offset) {
  return write_at(file, data, count, offset);
}
ssize_t pwrite64(int file, const void* data, size_t count, off64_t offset) {
  return write_at(file, data, count, offset);
}
ssize_t writev(int file, const iovec* parts, int num_parts) {
  return each_part(parts, num_parts,
                   [&](void* data, size_t count) { return write_at(file, data, count, -1); });
}
ssize_t sendfile(int to, int from, off_t* offset, size_t count) noexcept {
  return moved(to, count, [&](size_t n) { return syscall(SYS_sendfile, to, from, offset, n); });
}
ssize_t sendfile64(int to, int from, off64_t* offset, size_t count) noexcept {
  return sendfile(to, from, offset, count);
}
ssize_t copy_file_range(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t count,
                        unsigned flags) {
  return moved(to, count, [&](size_t n) {
    return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, n, flags);
  });
}

int fsync(int file) { return sync_file(SYS_fsync, file); }
int fdatasync(int file) { return sync_file(SYS_fdatasync, file); }

int rename(const char* from, const char* to) noexcept {
  return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return rename_at(from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  return rename_at(from_folder, from, to_folder, to, flags);
}
int link(const char* from, const char* to) noexcept {
  return link_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  return link_at(from_folder, from, to_folder, to, flags);
}
int symlink(const char* target, const char* path) noexcept {
  return symlink_at(target, AT_FDCWD, path);
}
int symlinkat(const char* target, int folder, const char* path) noexcept {
  return symlink_at(target, folder, path);
}
int unlink(const char* path) noexcept { return unlink_at(AT_FDCWD, path, 0); }
int rmdir(const char* path) noexcept { return unlink_at(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int folder, const char* path, int flags) noexcept {
  return unlink_at(folder, path, flags);
}
int remove(const char* path) noexcept {
  struct stat facts = {};
  const bool is_folder = lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
  return unlink_at(AT_FDCWD, path, is_folder ? AT_REMOVEDIR : 0);
}
int mkdir(const char* path, mode_t mode) noexcept { return mkdir_at(AT_FDCWD, path, mode); }
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return mkdir_at(folder, path, mode);
}
int truncate(const char* path, off_t length) noexcept {
  char full[kPathBytes];
  absolute(full, AT_FDCWD, path);
  return cut(full, length, -1);
}
int truncate64(const char* path, off64_t length) noexcept { return truncate(path, length); }
int ftruncate(int file, off_t length) noexcept {
  char full[kPathBytes];
  path_of(full, file);
  return cut(full, length, file);
}
int ftruncate64(int file, off64_t length) noexcept { return ftruncate(file, length); }

void* mmap(void* where, size_t length, int protection, int flags, int file, off_t offset) noexcept {
  return map_file(where, length, protection, flags, file, offset);
}
void* mmap64(void* where, size_t length, int protection, int flags, int file,
             off64_t offset) noexcept {
  return map_file(where, length, protection, flags, file, offset);
}

int flock(int file, int operation) noexcept {
  char path[kPathBytes] = {};
  if (decide_on(kFlock, file, path).fails) return -1;
  return static_cast<int>(syscall(SYS_flock, file, operation));
}
int close(int file) {
  char path[kPathBytes] = {};
  const Verdict verdict = is_watched(kClose) ? decide_on(kClose, file, path) : Verdict{};
  const int reason = errno;
  const auto result = static_cast<int>(syscall(SYS_close, file));
  if (!verdict.fails) return result;
  errno = reason;  // the descriptor is gone all the same
  return -1;
}

}  // extern "C"
