#pragma once
// Errors of reading and writing files, whatever is in them.

#include <string>

#include "s2s/error.h"

namespace s2s {

/// [io/write]: `action` ("cannot write") on `path` failed with `error_number` (errno). What was at
/// `path` before is still there.
Error write_error(const std::string& path, const std::string& action, int error_number);

}  // namespace s2s
