#pragma once
// Writes all bytes to a file, a pipe or a socket, with as many calls as it takes.

#include <unistd.h>

#include <cstddef>

#include "s2s/interrupted_calls.h"

namespace s2s {

/// Returns false, with errno, if not all bytes could be written. May be called in a signal handler.
inline bool write_whole(int file, const void* bytes, size_t num_bytes) {
  const char* at = static_cast<const char*>(bytes);
  InterruptedCalls interrupted;
  while (num_bytes > 0) {
    const ssize_t count = ::write(file, at, num_bytes);
    if (count < 0 && interrupted.again()) continue;
    if (count <= 0) return false;
    interrupted.reset();
    at += count;
    num_bytes -= static_cast<size_t>(count);
  }
  return true;
}

}  // namespace s2s
