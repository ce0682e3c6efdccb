#pragma once
// Complements s2s/threads.h: the error of a thread that cannot be started, and threads that are
// abandoned, because what they wait for may never come.

#include <string>
#include <thread>

#include "s2s/error.h"

namespace s2s {

/// Lets the thread run on. The process then has to end with `end_process_if_threads_are_left`.
void leave_behind(std::thread thread);

/// If a thread was abandoned, flushes buffered output and ends the process at once, without the
/// destructors of static objects, which the thread may still use.
void end_process_if_threads_are_left(int exit_code);

/// [run/threads]: a thread could not be started; `reason` is the system's.
Error threads_error(const std::string& reason);

}  // namespace s2s
