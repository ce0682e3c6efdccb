#pragma once
// Which call fails, and how: README.md has the variables. Nothing here allocates memory or throws,
// because it works below malloc and before main.

#include <sys/types.h>

#include <cstddef>

namespace s2s_faults {

/// Classes of calls, in the order of the counters of S2S_FAULTS_COUNTS.
enum CallClass {
  kOpen,
  kRead,
  kWrite,
  kSync,
  kRename,
  kLink,
  kUnlink,
  kMkdir,
  kRmdir,
  kMmap,
  kFlock,
  kThread,
  kSpawn,
  kMalloc,
  kTruncate,
  kClose,
  kStdio,
  kNumClasses
};

constexpr int kFiredCounter = 31;
constexpr int kNumCounters = 32;

/// What a call has to do instead of its work.
struct Verdict {
  bool fails = false;      // with errno as it was set
  bool is_short = false;   // half of the bytes only
  bool truncates = false;  // the file is to be cut to half of its size
};

/// True when some class is counted or fails in this process: else no path needs to be looked up.
bool is_counting();
/// True when calls of this class are counted or fail.
bool is_watched(CallClass kind);
/// Counts a call on `path` (null: of no file) and says what becomes of it. SIGKILL and SIGSTOP
/// happen inside.
Verdict decide(CallClass kind, const char* path);

/// Memory fails no more: main is through, and what libraries clear away is theirs.
void end_of_main();

/// True when S2S_FAULTS_PATH is not set, or is part of `path`.
bool matches_path(const char* path);
/// True when this process is one of those that count, fail and are recorded.
bool is_chosen_process();

}  // namespace s2s_faults
