#pragma once
// `--untrusted` and S2S_UNTRUSTED=1 say that strangers made what this process reads. Nothing in a
// file can turn this off.

#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s {

/// Whether S2S_UNTRUSTED is set to anything but "" and "0". Child processes inherit it.
bool is_untrusted();
/// `--untrusted`: sets the variable.
void set_untrusted();

/// The rights that a process keeps although it reads untrusted files.
struct KeptRights {
  bool network = false;    // for a rank of several, or a server
  bool long_work = false;  // no limit of processor time
};

/// Permanently removes rights from this process: starting programs, tracing and reading other
/// processes, loading kernel code, mounting and, unless kept, sockets. Limits its memory to most of
/// the machine's (kUntrustedMemoryShare), and its processor time (kUntrustedSeconds). Existing
/// threads keep their rights, so call it before threads start. Errors: [untrusted/system].
void lose_rights(const KeptRights& kept);

/// Share of the memory of the machine or the container.
inline constexpr double kUntrustedMemoryShare = 0.8;
inline constexpr int kUntrustedSeconds = 3600;

/// The error of something that `--untrusted` forbids. `what` is the place and the value, `next` the
/// next step.
Error untrusted_error(const std::string& what, const std::string& next);

}  // namespace s2s
