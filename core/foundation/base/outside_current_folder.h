#pragma once

#include <functional>

namespace s2s {

/// Calls `load`, which loads shared libraries, with / as the current folder. An empty element in a
/// run path means the current folder to the loader, and some libraries have one (NVIDIA's
/// cuSPARSELt: "$ORIGIN:"), so a library in a downloaded folder could run. Other threads keep their
/// current folder if the system supports a folder per thread. Exceptions of `load` are passed on.
void outside_current_folder(const std::function<void()>& load);

}  // namespace s2s
