#include "faults/fault_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace s2s_faults {
namespace {

const char* const kClassNames[kNumClasses] = {
    "open", "read",  "write",  "sync",  "rename", "link",     "unlink", "mkdir", "rmdir",
    "mmap", "flock", "thread", "spawn", "malloc", "truncate", "close",  "stdio"};

struct Named {
  const char* name;
  int value;
};
constexpr int kShort = -1, kKill = -2, kStop = -3, kTruncateFile = -4;
const Named kActions[] = {
    {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EINTR", EINTR},   {"EMFILE", EMFILE},
    {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN}, {"EACCES", EACCES}, {"ENOLCK", ENOLCK},
    {"ENOSYS", ENOSYS}, {"EINVAL", EINVAL}, {"EROFS", EROFS},   {"EDQUOT", EDQUOT},
    {"SHORT", kShort},  {"KILL", kKill},    {"STOP", kStop},    {"TRUNCATE", kTruncateFile}};

/// What the environment asks for, read once.
struct Plan {
  bool is_read = false;
  bool is_active = false;
  int kind = -1;  // the class that fails
  unsigned long number = 0;
  int action = 0;
  bool goes_on = false;
  bool is_armed = false;  // a matching path was seen
  bool is_over = false;   // main has returned
  int trace = -1;         // descriptor of S2S_FAULTS_TRACE
  char path[512] = {};
  unsigned long own_counters[kNumCounters] = {};
  unsigned long* counters = own_counters;
};
Plan g_plan;

bool is_this_program() {
  const char* wanted = getenv("S2S_FAULTS_PROGRAM");
  if (wanted == nullptr) wanted = "s2s-run";
  if (strcmp(wanted, "*") == 0) return true;
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) return false;
  const char* const slash = strrchr(self, '/');
  return strcmp(slash == nullptr ? self : slash + 1, wanted) == 0;
}

bool is_this_rank() {
  const char* const wanted = getenv("S2S_FAULTS_RANK");
  if (wanted == nullptr) return true;
  const char* const rank = getenv("RANK");
  return rank != nullptr && strcmp(rank, wanted) == 0;
}

void complain(const char* what) {
  const ssize_t ignored = write(2, what, strlen(what));
  static_cast<void>(ignored);
  _exit(99);  // a plan that is not understood must not look like a run that survived
}

/// CLASS:N:ACTION[:once|on]
void read_order(const char* order) {
  char text[128] = {};
  strncpy(text, order, sizeof(text) - 1);
  char* rest = text;
  const char* const kind = strsep(&rest, ":");
  const char* const number = strsep(&rest, ":");
  const char* const action = strsep(&rest, ":");
  for (int i = 0; i < kNumClasses; ++i) {
    if (strcmp(kClassNames[i], kind) == 0) g_plan.kind = i;
  }
  if (number != nullptr) g_plan.number = strtoul(number, nullptr, 10);
  for (const Named& one : kActions) {
    if (action != nullptr && strcmp(one.name, action) == 0) g_plan.action = one.value;
  }
  g_plan.goes_on = rest != nullptr && strcmp(rest, "on") == 0;
  if (g_plan.kind < 0 || g_plan.number == 0 || g_plan.action == 0) {
    complain("s2s_faults: S2S_FAULTS=CLASS:N:ACTION[:once|on]\n");
  }
}

void map_counters(const char* file) {
  const size_t num_bytes = sizeof(g_plan.own_counters);
  const long opened = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  const int descriptor = static_cast<int>(opened);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(num_bytes)) != 0) {
    complain("s2s_faults: S2S_FAULTS_COUNTS cannot be opened\n");
  }
  const long mapped =
      syscall(SYS_mmap, nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped < 0 && mapped > -4096) complain("s2s_faults: S2S_FAULTS_COUNTS cannot be mapped\n");
  syscall(SYS_close, descriptor);
  g_plan.counters = reinterpret_cast<unsigned long*>(mapped);
}

void open_trace(const char* file) {
  const long opened =
      syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (opened < 0) complain("s2s_faults: S2S_FAULTS_TRACE cannot be opened\n");
  // Out of the program's way: it counts on its first descriptors.
  g_plan.trace = static_cast<int>(syscall(SYS_fcntl, opened, F_DUPFD_CLOEXEC, 900));
  syscall(SYS_close, opened);
}

/// CLASS<TAB>NUMBER<TAB>PATH
void trace_call(CallClass kind, unsigned long number, const char* path) {
  char line[4200];
  const int size = snprintf(line, sizeof(line), "%s\t%lu\t%s\n", kClassNames[kind], number,
                            path == nullptr ? "" : path);
  if (size > 0 && size < static_cast<int>(sizeof(line))) {
    syscall(SYS_write, g_plan.trace, line, static_cast<size_t>(size));
  }
}

__attribute__((constructor(101))) void read_plan() {
  if (g_plan.is_read) return;
  g_plan.is_read = true;
  if (const char* path = getenv("S2S_FAULTS_PATH")) {
    strncpy(g_plan.path, path, sizeof(g_plan.path) - 1);
  }
  const char* const order = getenv("S2S_FAULTS");
  const char* const counts = getenv("S2S_FAULTS_COUNTS");
  if (order != nullptr) read_order(order);
  if ((order == nullptr && counts == nullptr) || !is_chosen_process()) return;
  if (counts != nullptr) map_counters(counts);
  if (const char* const trace = getenv("S2S_FAULTS_TRACE")) open_trace(trace);
  g_plan.is_active = true;
}

/// SIGSTOP for a second. A grandchild wakes the process again.
void stop_for_a_second() {
  const pid_t self = getpid();
  const long child = syscall(SYS_fork);
  if (child == 0) {
    if (syscall(SYS_fork) != 0) _exit(0);
    syscall(SYS_close_range, 0, ~0U, 0);  // pipes and locks are the process's own
    const timespec second = {1, 0};
    nanosleep(&second, nullptr);
    kill(self, SIGCONT);
    _exit(0);
  }
  syscall(SYS_wait4, child, nullptr, 0, nullptr);
  kill(self, SIGSTOP);
}

}  // namespace

bool is_chosen_process() { return is_this_program() && is_this_rank(); }

bool is_counting() { return g_plan.is_active; }

bool is_watched(CallClass kind) {
  if (!g_plan.is_active) return false;
  const bool waits_for_path = g_plan.kind == kMalloc && !g_plan.is_armed;
  return g_plan.kind == kind || waits_for_path || g_plan.counters != g_plan.own_counters;
}

void end_of_main() { g_plan.is_over = true; }

bool matches_path(const char* path) {
  return g_plan.path[0] == '\0' || (path != nullptr && strstr(path, g_plan.path) != nullptr);
}

Verdict decide(CallClass kind, const char* path) {
  Verdict verdict;
  if (!is_watched(kind)) return verdict;
  const bool has_path = kind != kThread && kind != kMalloc && kind != kSpawn;
  if (has_path && !matches_path(path)) return verdict;
  if (has_path) g_plan.is_armed = true;
  // Memory counts from the first matching path on: what happens before main is not the program's.
  if (kind == kMalloc && g_plan.path[0] != '\0' && !g_plan.is_armed) return verdict;
  if (kind == kMalloc && g_plan.is_over) return verdict;
  const unsigned long number = __atomic_add_fetch(&g_plan.counters[kind], 1, __ATOMIC_RELAXED);
  if (g_plan.trace >= 0 && has_path) trace_call(kind, number, path);
  if (g_plan.kind != kind) return verdict;
  if (number != g_plan.number && !(g_plan.goes_on && number > g_plan.number)) return verdict;
  __atomic_add_fetch(&g_plan.counters[kFiredCounter], 1, __ATOMIC_RELAXED);
  if (g_plan.action == kKill) kill(getpid(), SIGKILL);
  if (g_plan.action == kStop) stop_for_a_second();
  verdict.is_short = g_plan.action == kShort;
  verdict.truncates = g_plan.action == kTruncateFile;
  verdict.fails = g_plan.action > 0;
  if (verdict.fails) errno = g_plan.action;
  return verdict;
}

}  // namespace s2s_faults
