// Preloaded into s2s-run, ends it like kill -9 would, before a chosen step of writing something.
//
//   S2S_TEST_KILL="NEEDLE:COUNT"
//
// Once a folder whose name contains NEEDLE is made, the process kills itself in place of the
// COUNT-th call (0: right after the folder was made) that puts something on the disk: fsync,
// rename, symlink.

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int g_calls_left = -1;  // below 0: not armed

template <class Function>
Function next(const char* name, Function) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void count_call() {
  if (g_calls_left < 0) return;
  if (g_calls_left == 0) kill(getpid(), SIGKILL);
  --g_calls_left;
}

void arm(const char* path) {
  const char* const order = std::getenv("S2S_TEST_KILL");
  const char* const colon = order == nullptr ? nullptr : std::strrchr(order, ':');
  if (colon == nullptr) return;
  char needle[64] = {};
  std::strncpy(needle, order, static_cast<size_t>(colon - order) % sizeof(needle));
  if (std::strstr(path, needle) == nullptr) return;
  g_calls_left = std::atoi(colon + 1) - 1;
  if (g_calls_left < 0) kill(getpid(), SIGKILL);
}

}  // namespace

extern "C" {

int mkdir(const char* path, mode_t mode) {
  const int result = next("mkdir", &mkdir)(path, mode);
  if (result == 0) arm(path);
  return result;
}

int fsync(int file) {
  count_call();
  return next("fsync", &fsync)(file);
}

int rename(const char* from, const char* to) noexcept {
  count_call();
  return next("rename", &rename)(from, to);
}

int symlink(const char* target, const char* path) noexcept {
  count_call();
  return next("symlink", &symlink)(target, path);
}

}  // extern "C"
