#pragma once
// The stacks of all threads of this process, for the record of a step that takes too long.

#include <vector>

#include "flight/flight_diagnosis.h"

namespace s2s {

/// Interrupts each other thread with SIGURG, which programs ignore, and collects its functions. A
/// thread that blocks signals or does not answer in a fifth of a second has no stack, only a state.
/// One call at a time.
/// Source: backtrace(3), tgkill(2), proc(5).
std::vector<FlownThread> thread_stacks();

}  // namespace s2s
