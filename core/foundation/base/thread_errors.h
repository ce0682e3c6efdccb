#pragma once
// Errors of threads.

#include <string>

#include "s2s/error.h"

namespace s2s {

/// [run/threads]: a thread could not be started; `reason` is the system's.
Error threads_error(const std::string& reason);

}  // namespace s2s
