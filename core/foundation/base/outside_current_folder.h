#pragma once

#include <functional>

namespace s2s {

/// Calls `load`, which loads shared libraries, with / as the current folder. An empty element in a
/// run path means the current folder to the loader, and libraries of others have one (NVIDIA's
/// cuSPARSELt: "$ORIGIN:"): what lies in a downloaded folder would run because one stands in it.
/// Other threads keep their current folder, where the system allows a thread its own. Exceptions of
/// `load` come through.
void outside_current_folder(const std::function<void()>& load);

}  // namespace s2s
