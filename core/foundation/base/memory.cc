#include "base/memory.h"

#include <cstdlib>  // tells which C library this is
#include <mutex>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace s2s {

void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kLargestFromHeap = 32 << 20;  // glibc's limit; larger ones are mapped one by one
  constexpr int kFreeAtTop = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kLargestFromHeap);
  mallopt(M_TRIM_THRESHOLD, kFreeAtTop);
#endif
}

void return_freed_memory() {
#if defined(__GLIBC__)
  // Where another allocator stands in for glibc's, this call is the first that glibc's own gets,
  // and it sets itself up without a lock.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  malloc_trim(0);
#endif
}

}  // namespace s2s
