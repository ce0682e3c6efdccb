#pragma once
// `--untrusted` and S2S_UNTRUSTED=1: what this process reads was made by strangers. Nothing in a
// file can turn it off.

#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s {

/// True if S2S_UNTRUSTED is set to anything but "" and "0". Processes that this one starts inherit
/// it.
bool is_untrusted();
/// `--untrusted`: sets the variable.
void set_untrusted();

/// What a process may keep that reads a stranger's files.
struct KeptRights {
  bool network = false;    // a rank of several, or a server
  bool long_work = false;  // no limit of processor time
};

/// Takes from this process, for good: starting programs, tracing and reading other processes,
/// loading kernel code, mounting, and, unless kept, sockets. Limits its memory to most of the
/// machine's (kUntrustedMemoryShare), and its processor time (kUntrustedSeconds). Threads that
/// exist already keep their rights: call it first. Errors: [untrusted/system].
void lose_rights(const KeptRights& kept);

/// Of the memory of the machine or the container.
inline constexpr double kUntrustedMemoryShare = 0.8;
inline constexpr int kUntrustedSeconds = 3600;

/// Refuses what `--untrusted` excludes. `what` is the place and the value, `next` the next step.
Error untrusted_error(const std::string& what, const std::string& next);

}  // namespace s2s
