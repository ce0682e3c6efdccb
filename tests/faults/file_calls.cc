#include "faults/file_calls.h"

#include <dlfcn.h>
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

#include "faults/call_log.h"
#include "faults/fault_plan.h"

namespace s2s_faults {
namespace {

using Path = char[kPathBytes];

template <class Function>
Function next(const char* name, Function) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool wants_path(CallClass kind) { return is_watched(kind) || is_recording(); }

bool writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0; }

void record_open(const char* path, int flags) {
  if (!is_recording() || !writes(flags) || (flags & O_TMPFILE) == O_TMPFILE) return;
  if ((flags & (O_CREAT | O_TRUNC)) == 0) return;
  record("create", path, (flags & O_TRUNC) != 0 ? "truncate" : "");
}

void halve(const char* path) {
  struct stat facts = {};
  if (stat(path, &facts) == 0) syscall(SYS_truncate, path, facts.st_size / 2);
}

/// A call on one name, or on two, that are below folders.
struct Names {
  Path first = {};
  Path second = {};
};

bool fails_on(CallClass kind, const char* log_kind, const Names& names, bool has_second) {
  if (is_logging()) log_call(log_kind, names.first, has_second ? names.second : nullptr);
  const bool second_matches = has_second && !matches_path(names.first);
  return decide(kind, second_matches ? names.second : names.first).fails;
}

bool looks_at_names(CallClass kind) { return is_logging() || wants_path(kind); }

}  // namespace

int open_at(int folder, const char* path, int flags, mode_t mode) {
  const bool logs = is_logging() && writes(flags);
  Path full = {};
  if (logs || wants_path(kOpen)) absolute(full, folder, path);
  if (logs) log_call("open-write", full);
  const Verdict verdict = decide(kOpen, full);
  if (verdict.fails) return -1;
  const auto file = static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
  if (file >= 0) record_open(full, flags);
  return file;
}

mode_t mode_of(int flags, va_list arguments) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(arguments, mode_t) : 0;
}

/// A FILE that is opened by the C library itself, so that its write cannot be seen.
FILE* open_stream(const char* name, const char* path, const char* mode) {
  using Call = FILE* (*)(const char*, const char*);
  const bool is_writing = strpbrk(mode, "wa+") != nullptr;
  const bool logs = is_logging() && is_writing;
  Path full = {};
  if (logs || wants_path(kOpen)) absolute(full, AT_FDCWD, path);
  if (logs) log_call("open-write", full);
  if (decide(kOpen, full).fails) return nullptr;
  FILE* const file = next(name, Call{})(path, mode);
  if (file != nullptr && is_writing && mode[0] != 'r') {
    record_open(full, O_WRONLY | O_CREAT | (mode[0] == 'w' ? O_TRUNC : 0));
  }
  return file;
}

int open_temporary(const char* name, char* pattern, int flags) {
  Path full = {};
  if (is_logging() || wants_path(kOpen)) absolute(full, AT_FDCWD, pattern);
  log_call("open-write", full);
  if (decide(kOpen, full).fails) return -1;
  const int file = next(name, static_cast<int (*)(char*, int)>(nullptr))(pattern, flags);
  if (file >= 0 && is_recording()) {
    absolute(full, AT_FDCWD, pattern);
    record("create", full);
  }
  return file;
}

/// The verdict on a call that reads or writes through a descriptor.
Verdict decide_on(CallClass kind, int file, char (&path)[kPathBytes]) {
  if (!wants_path(kind)) return {};
  path_of(path, file);
  if (path[0] == '\0') return {};
  return decide(kind, path);
}

size_t shortened(const Verdict& verdict, size_t count) {
  return verdict.is_short && count > 1 ? count / 2 : count;
}

ssize_t read_at(int file, void* data, size_t count, off_t offset) {  // -1: where the file stands
  Path path = {};
  const Verdict verdict = decide_on(kRead, file, path);
  if (verdict.fails) return -1;
  if (verdict.truncates) halve(path);
  count = shortened(verdict, count);
  return offset < 0 ? syscall(SYS_read, file, data, count)
                    : syscall(SYS_pread64, file, data, count, offset);
}

off_t position(int file) { return syscall(SYS_lseek, file, 0, SEEK_CUR); }

ssize_t write_at(int file, const void* data, size_t count, off_t offset) {
  Path path = {};
  const Verdict verdict = decide_on(kWrite, file, path);
  if (verdict.fails) return -1;
  count = shortened(verdict, count);
  const ssize_t written = offset < 0 ? syscall(SYS_write, file, data, count)
                                     : syscall(SYS_pwrite64, file, data, count, offset);
  if (written > 0 && path[0] != '\0' && is_recording()) {
    const off_t at = offset < 0 ? position(file) - written : offset;
    record("write", path, "", at, data, static_cast<size_t>(written));
  }
  return written;
}

int sync_file(long call, int file) {
  Path path = {};
  if (decide_on(kSync, file, path).fails) return -1;
  const auto result = static_cast<int>(syscall(call, file));
  if (result == 0 && path[0] != '\0') record("sync", path);
  return result;
}

int rename_at(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  Names names;
  if (looks_at_names(kRename)) {
    absolute(names.first, from_folder, from);
    absolute(names.second, to_folder, to);
    if (fails_on(kRename, "rename", names, true)) return -1;
  }
  const long result = syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
  const bool is_exchange = (flags & RENAME_EXCHANGE) != 0;
  if (result == 0) record(is_exchange ? "exchange" : "rename", names.first, names.second);
  return static_cast<int>(result);
}

int link_at(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  Names names;
  if (looks_at_names(kLink)) {
    absolute(names.first, from_folder, from);
    absolute(names.second, to_folder, to);
    if (fails_on(kLink, "link", names, true)) return -1;
    if (strncmp(names.first, "/proc/self/fd/", 14) == 0) path_of(names.first, atoi(from + 14));
  }
  const long result = syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
  if (result == 0) record("link", names.first, names.second);
  return static_cast<int>(result);
}

int symlink_at(const char* target, int folder, const char* path) {
  Names names;
  if (looks_at_names(kLink)) {
    strncpy(names.first, target, kPathBytes - 1);
    absolute(names.second, folder, path);
    if (fails_on(kLink, "symlink", names, true)) return -1;
  }
  const long result = syscall(SYS_symlinkat, target, folder, path);
  if (result == 0) record("symlink", names.first, names.second);
  return static_cast<int>(result);
}

int unlink_at(int folder, const char* path, int flags) {
  const bool is_folder = (flags & AT_REMOVEDIR) != 0;
  const CallClass kind = is_folder ? kRmdir : kUnlink;
  Names names;
  if (looks_at_names(kind)) {
    absolute(names.first, folder, path);
    if (fails_on(kind, is_folder ? "rmdir" : "unlink", names, false)) return -1;
  }
  const long result = syscall(SYS_unlinkat, folder, path, flags);
  if (result == 0) record(is_folder ? "rmdir" : "unlink", names.first);
  return static_cast<int>(result);
}

int mkdir_at(int folder, const char* path, mode_t mode) {
  Names names;
  if (looks_at_names(kMkdir)) {
    absolute(names.first, folder, path);
    if (fails_on(kMkdir, "mkdir", names, false)) return -1;
  }
  const long result = syscall(SYS_mkdirat, folder, path, mode);
  if (result == 0) record("mkdir", names.first);
  return static_cast<int>(result);
}

void* map_file(void* where, size_t length, int protection, int flags, int file, off_t offset) {
  Path path = {};
  Verdict verdict;
  if (file >= 0 && (flags & MAP_ANONYMOUS) == 0) verdict = decide_on(kMmap, file, path);
  if (verdict.fails) return MAP_FAILED;
  const long at = syscall(SYS_mmap, where, length, protection, flags, file, offset);
  if (at != -1 && verdict.truncates) halve(path);
  return reinterpret_cast<void*>(at);
}

/// A change of length: the file's own path and `length`.
int cut(const char* path, off_t length, int file) {
  if (is_logging()) log_call("truncate", path);
  if (decide(kTruncate, path).fails) return -1;
  const long result =
      file < 0 ? syscall(SYS_truncate, path, length) : syscall(SYS_ftruncate, file, length);
  if (result == 0) record("truncate", path, "", length);
  return static_cast<int>(result);
}

}  // namespace s2s_faults
