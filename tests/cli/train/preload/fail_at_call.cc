// Preloaded into s2s-run, makes one call fail.
//
//   S2S_TEST_FAIL_THREAD="NAME"   once a folder whose path ends with NAME is made, the next thread
//                                 cannot be started: EAGAIN, as of a container with pids.max
//   S2S_TEST_CUT="NEEDLE:BYTES"   a file whose name contains NEEDLE is cut to BYTES bytes as soon
//                                 as it is mapped
//   S2S_TEST_FAIL_PATH="CALL:NEEDLE:ERRNO"   CALL (fsync, symlink, rename, mkdir) fails with the
//                                 number ERRNO for paths that contain NEEDLE
//   S2S_TEST_INTERRUPT="NEEDLE"   each write to a file whose name contains NEEDLE fails with EINTR

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<bool> g_fails_next{false};

template <class Function>
Function next(const char* name, Function) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool ends_with(const char* text, const char* end) {
  const size_t length = std::strlen(text), part = std::strlen(end);
  return length >= part && std::strcmp(text + length - part, end) == 0;
}

/// Cuts the file behind a descriptor when its name is the one that is asked for.
void cut(int file) {
  const char* const order = std::getenv("S2S_TEST_CUT");
  const char* const colon = order == nullptr ? nullptr : std::strrchr(order, ':');
  if (colon == nullptr) return;
  char place[32] = {}, path[4096] = {}, needle[64] = {};
  std::snprintf(place, sizeof(place), "/proc/self/fd/%d", file);
  if (readlink(place, path, sizeof(path) - 1) <= 0) return;
  std::strncpy(needle, order, static_cast<size_t>(colon - order) % sizeof(needle));
  if (std::strstr(path, needle) == nullptr) return;
  if (truncate(path, std::atol(colon + 1)) != 0) std::abort();
}

/// Returns true, and sets errno, when S2S_TEST_FAIL_PATH is about this call.
bool fails(const char* call, const char* path) {
  const char* const order = std::getenv("S2S_TEST_FAIL_PATH");
  char name[16] = {}, needle[64] = {};
  int number = 0;
  if (order == nullptr || std::sscanf(order, "%15[^:]:%63[^:]:%d", name, needle, &number) != 3) {
    return false;
  }
  if (std::strcmp(name, call) != 0 || std::strstr(path, needle) == nullptr) return false;
  errno = number;
  return true;
}

bool is_interrupted(int file) {
  const char* const needle = std::getenv("S2S_TEST_INTERRUPT");
  if (needle == nullptr) return false;
  char place[32] = {}, path[4096] = {};
  std::snprintf(place, sizeof(place), "/proc/self/fd/%d", file);
  return readlink(place, path, sizeof(path) - 1) > 0 && std::strstr(path, needle) != nullptr;
}

}  // namespace

extern "C" {

int fsync(int file) {
  char place[32] = {}, path[4096] = {};
  std::snprintf(place, sizeof(place), "/proc/self/fd/%d", file);
  if (readlink(place, path, sizeof(path) - 1) > 0 && fails("fsync", path)) return -1;
  return next("fsync", &fsync)(file);
}

int symlink(const char* target, const char* path) {
  return fails("symlink", path) ? -1 : next("symlink", &symlink)(target, path);
}

int rename(const char* from, const char* to) {
  return fails("rename", from) ? -1 : next("rename", &rename)(from, to);
}

ssize_t write(int file, const void* bytes, size_t count) {
  if (!is_interrupted(file)) return next("write", &write)(file, bytes, count);
  errno = EINTR;
  return -1;
}

int mkdir(const char* path, mode_t mode) {
  if (fails("mkdir", path)) return -1;
  const int result = next("mkdir", &mkdir)(path, mode);
  const char* const needle = std::getenv("S2S_TEST_FAIL_THREAD");
  if (result == 0 && needle != nullptr && ends_with(path, needle)) g_fails_next = true;
  return result;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  if (g_fails_next.exchange(false)) return EAGAIN;
  return next("pthread_create", &pthread_create)(thread, attributes, body, argument);
}

void* mmap(void* place, size_t bytes, int protection, int flags, int file, off_t offset) {
  void* const mapped = next("mmap", &mmap)(place, bytes, protection, flags, file, offset);
  if (file >= 0 && mapped != MAP_FAILED) cut(file);
  return mapped;
}

}  // extern "C"
