#include "amplification/heap.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

std::atomic<int64_t> g_live{0}, g_peak{0}, g_begin{0};

void* grown(void* block) {
  if (block == nullptr) return nullptr;
  const auto bytes = static_cast<int64_t>(malloc_usable_size(block));
  const int64_t live = g_live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = g_peak.load(std::memory_order_relaxed);
  while (live > peak && !g_peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  return block;
}

void shrink(void* block) {
  if (block == nullptr) return;
  const auto bytes = static_cast<int64_t>(malloc_usable_size(block));
  g_live.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

namespace s2s::test {
bool is_heap_counted() { return false; }
}  // namespace s2s::test

#else

// The loader finds these before the C library's, for all libraries of the process.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);

void* malloc(size_t bytes) { return grown(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) { return grown(__libc_calloc(count, bytes)); }
void* realloc(void* block, size_t bytes) {
  shrink(block);
  void* const moved = __libc_realloc(block, bytes);
  if (moved == nullptr && bytes > 0) grown(block);
  return grown(moved);
}
void* memalign(size_t alignment, size_t bytes) { return grown(__libc_memalign(alignment, bytes)); }
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** block, size_t alignment, size_t bytes) {
  *block = memalign(alignment, bytes);
  return *block == nullptr ? ENOMEM : 0;
}
void free(void* block) {
  shrink(block);
  __libc_free(block);
}
}

namespace s2s::test {
bool is_heap_counted() { return true; }
}  // namespace s2s::test

#endif

namespace s2s::test {

void start_heap_peak() {
  g_begin = g_live.load();
  g_peak = g_live.load();
}

int64_t heap_peak() { return g_peak - g_begin; }

}  // namespace s2s::test
