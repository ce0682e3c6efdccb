#pragma once
/// @file Where a process runs, for messages and records.

#include <string>

namespace s2s {

/// The machine's name; "?" when it has none.
std::string host_name();

}  // namespace s2s
