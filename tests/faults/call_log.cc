#include "faults/call_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "faults/fault_plan.h"

namespace s2s_faults {
namespace {

int g_log = -1;
int g_record = -1;

/// A descriptor that is out of the way: what the program opens keeps its usual numbers.
int open_high(const char* file) {
  const long low =
      syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (low < 0) return -1;
  const int high = fcntl(static_cast<int>(low), F_DUPFD_CLOEXEC, 900);
  if (high < 0) return static_cast<int>(low);
  syscall(SYS_close, low);
  return high;
}

__attribute__((constructor(102))) void open_files() {
  if (const char* file = getenv("S2S_FAULTS_LOG")) g_log = open_high(file);
  const char* const file = getenv("S2S_FAULTS_RECORD");
  if (file != nullptr && is_chosen_process()) g_record = open_high(file);
}

/// Appends `text` to `out` (of `room` bytes), with \xNN for what would break a line.
size_t append_escaped(char* out, size_t used, size_t room, const char* text) {
  for (; *text != '\0' && used + 5 < room; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    if (byte < 0x20 || byte > 0x7e || byte == '\\') {
      used += static_cast<size_t>(snprintf(out + used, 5, "\\x%02x", byte));
    } else {
      out[used++] = *text;
    }
  }
  return used;
}

/// Takes "." and ".." out of an absolute path, by its text.
void normalize(char (&path)[kPathBytes]) {
  char* out = path;
  for (const char* part = path; *part != '\0';) {
    const char* end = part + 1;
    while (*end != '\0' && *end != '/') ++end;
    const size_t length = static_cast<size_t>(end - part);  // with its slash in front
    if (length == 3 && strncmp(part, "/..", 3) == 0) {
      while (out > path && *--out != '/') {
      }
    } else if (length > 1 && !(length == 2 && part[1] == '.')) {
      memmove(out, part, length);
      out += length;
    }
    part = end;
  }
  if (out == path) *out++ = '/';
  *out = '\0';
}

struct KeptErrno {
  int value = errno;
  ~KeptErrno() { errno = value; }
};

}  // namespace

void absolute(char (&full)[kPathBytes], int folder, const char* path) {
  const KeptErrno kept;
  full[0] = '\0';
  if (path == nullptr) return;
  if (path[0] != '/') {
    if (folder == AT_FDCWD) {
      const ssize_t length = readlink("/proc/self/cwd", full, kPathBytes - 1);
      full[length > 0 ? length : 0] = '\0';
    } else {
      path_of(full, folder);
    }
    strncat(full, "/", kPathBytes - strlen(full) - 1);
  }
  strncat(full, path, kPathBytes - strlen(full) - 1);
  if (full[0] == '/') normalize(full);
}

void path_of(char (&full)[kPathBytes], int descriptor) {
  const KeptErrno kept;
  char link[64];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, full, kPathBytes - 1);
  full[length > 0 ? length : 0] = '\0';
  if (full[0] != '/') full[0] = '\0';  // a pipe or a socket
}

bool is_logging() { return g_log >= 0; }

void log_call(const char* kind, const char* path, const char* second) {
  if (g_log < 0) return;
  const KeptErrno kept;
  char line[2 * kPathBytes];
  int begun = snprintf(line, sizeof(line), "%s\t%d\t", kind, static_cast<int>(getpid()));
  size_t used = append_escaped(line, static_cast<size_t>(begun), sizeof(line) / 2, path);
  if (second != nullptr) {
    line[used++] = '\t';
    used = append_escaped(line, used, sizeof(line), second);
  }
  line[used++] = '\n';
  if (syscall(SYS_write, g_log, line, used) >= 0 || errno != EBADF) return;
  g_log = open_high(getenv("S2S_FAULTS_LOG"));  // a child has closed all that it was left
  syscall(SYS_write, g_log, line, used);
}

bool is_recording() { return g_record >= 0; }

void record(const char* operation, const char* path, const char* second, off_t offset,
            const void* data, size_t length) {
  if (g_record < 0 || !(matches_path(path) || matches_path(second))) return;
  const KeptErrno kept;
  char line[2 * kPathBytes + 128];
  size_t used = static_cast<size_t>(snprintf(line, sizeof(line), "%s\t", operation));
  used = append_escaped(line, used, kPathBytes, path);
  line[used++] = '\t';
  used = append_escaped(line, used, 2 * kPathBytes, second);
  const size_t room = sizeof(line) - used;
  used += static_cast<size_t>(
      snprintf(line + used, room, "\t%lld\t%zu\n", static_cast<long long>(offset), length));
  const iovec parts[] = {{line, used}, {const_cast<void*>(data), length}};
  syscall(SYS_writev, g_record, parts, length > 0 ? 2 : 1);
}

void record_written(int descriptor, const char* path, off_t offset, size_t length) {
  if (g_record < 0 || !matches_path(path)) return;
  const KeptErrno kept;
  char name[64];
  snprintf(name, sizeof(name), "/proc/self/fd/%d", descriptor);
  const long file = syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return;
  char block[65536];
  while (length > 0) {
    const size_t wanted = length < sizeof(block) ? length : sizeof(block);
    const long count = syscall(SYS_pread64, file, block, wanted, offset);
    if (count <= 0) break;
    record("write", path, "", offset, block, static_cast<size_t>(count));
    offset += count;
    length -= static_cast<size_t>(count);
  }
  syscall(SYS_close, file);
}

}  // namespace s2s_faults
