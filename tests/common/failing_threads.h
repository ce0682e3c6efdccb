#pragma once
// A system without threads for this process, as under `ulimit -u`. To be included by one source of
// a program: its pthread_create takes the C library's place.

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace s2s::test {

/// Threads that may still be started; below 0: any number.
inline std::atomic<int>& threads_left() {
  static std::atomic<int> left = -1;
  return left;
}

/// So many threads start while this lives, the next ones fail.
struct FailingThreads {
  explicit FailingThreads(int num_good) { threads_left() = num_good; }
  ~FailingThreads() { threads_left() = -1; }
  FailingThreads(const FailingThreads&) = delete;
  FailingThreads& operator=(const FailingThreads&) = delete;
};

}  // namespace s2s::test

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
    void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  std::atomic<int>& left = s2s::test::threads_left();
  if (left == 0) return EAGAIN;
  if (left > 0) --left;
  return create(thread, attributes, run, argument);
}
