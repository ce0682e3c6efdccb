#pragma once
// Threads that nobody waits for, because what they wait for may never come.

#include <thread>

namespace s2s {

/// Lets it run on. The process then has to end by `end_process_if_threads_are_left`.
void leave_behind(std::thread thread);

/// Where a thread was left behind: writes out what is buffered and ends the process at once,
/// without the destructors of static objects, which the thread may still use.
void end_process_if_threads_are_left(int exit_code);

}  // namespace s2s
