// Memory, threads, programs and streams, as s2s_faults.cc has files.

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults/file_calls.h"

using namespace s2s_faults;

namespace {

template <class Function>
Function next(const char* name, Function) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool has_memory() { return !is_watched(kMalloc) || !decide(kMalloc, nullptr).fails; }

void log_program(const char* kind, const char* name) {
  if (!is_logging() || name == nullptr) return;
  char full[kPathBytes];
  if (strchr(name, '/') != nullptr) absolute(full, -100, name);  // AT_FDCWD
  log_call(kind, strchr(name, '/') != nullptr ? full : name);
}

using Main = int (*)(int, char**, char**);
Main g_main = nullptr;

int watched_main(int count, char** words, char** environment) {
  const int result = g_main(count, words, environment);
  end_of_main();
  return result;
}

/// The class of a call on a FILE: its descriptor's path.
bool stream_fails(FILE* stream) {
  if (!is_watched(kStdio) || stream == nullptr) return false;
  char path[kPathBytes] = {};
  return decide_on(kStdio, fileno(stream), path).fails;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

int __libc_start_main(Main main, int count, char** words, void (*begin)(), void (*end)(),
                      void (*loader_end)(), void* stack) {
  g_main = main;
  return next("__libc_start_main", &__libc_start_main)(&watched_main, count, words, begin, end,
                                                       loader_end, stack);
}
void exit(int code) noexcept {
  end_of_main();
  next("exit", &exit)(code);
  __builtin_unreachable();
}

void* malloc(size_t size) noexcept { return has_memory() ? __libc_malloc(size) : nullptr; }
void* calloc(size_t count, size_t size) noexcept {
  return has_memory() ? __libc_calloc(count, size) : nullptr;
}
void* realloc(void* old, size_t size) noexcept {
  return has_memory() ? __libc_realloc(old, size) : nullptr;
}
void* memalign(size_t alignment, size_t size) noexcept {
  return has_memory() ? __libc_memalign(alignment, size) : nullptr;
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** result, size_t alignment, size_t size) noexcept {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const found = memalign(alignment, size);
  if (found == nullptr) return ENOMEM;
  *result = found;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
  if (decide(kThread, nullptr).fails) return errno;
  return next("pthread_create", &pthread_create)(thread, attributes, body, argument);
}

int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[],
                char* const environment[]) {
  log_program("spawn", path);
  if (decide(kSpawn, nullptr).fails) return errno;
  return next("posix_spawn", &posix_spawn)(child, path, actions, attributes, arguments,
                                           environment);
}
int posix_spawnp(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const arguments[],
                 char* const environment[]) {
  log_program("spawn", path);
  if (decide(kSpawn, nullptr).fails) return errno;
  return next("posix_spawnp", &posix_spawnp)(child, path, actions, attributes, arguments,
                                             environment);
}
int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  log_program("exec", path);
  return next("execve", &execve)(path, arguments, environment);
}
int execv(const char* path, char* const arguments[]) noexcept {
  log_program("exec", path);
  return next("execv", &execv)(path, arguments);
}
int execvp(const char* path, char* const arguments[]) noexcept {
  log_program("exec", path);
  return next("execvp", &execvp)(path, arguments);
}
int execvpe(const char* path, char* const arguments[], char* const environment[]) noexcept {
  log_program("exec", path);
  return next("execvpe", &execvpe)(path, arguments, environment);
}
FILE* popen(const char* command, const char* mode) {
  log_call("popen", command);
  if (decide(kSpawn, nullptr).fails) return nullptr;
  return next("popen", &popen)(command, mode);
}
int system(const char* command) {
  if (command != nullptr) log_call("system", command);
  return next("system", &system)(command);
}
pid_t fork() noexcept {
  if (decide(kSpawn, nullptr).fails) return -1;
  return next("fork", &fork)();
}

// The caller's place decides where a library is searched for: this has to be a jump, not a call.
__attribute__((optimize("O2"))) void* dlopen(const char* path, int flags) noexcept {
  log_program("dlopen", path);
  return next("dlopen", &dlopen)(path, flags);
}

size_t fwrite(const void* data, size_t size, size_t count, FILE* stream) {
  if (stream_fails(stream)) return 0;
  return next("fwrite", &fwrite)(data, size, count, stream);
}
int fputs(const char* text, FILE* stream) {
  if (stream_fails(stream)) return EOF;
  return next("fputs", &fputs)(text, stream);
}
int fflush(FILE* stream) {
  if (stream_fails(stream)) return EOF;
  return next("fflush", &fflush)(stream);
}

}  // extern "C"
