#pragma once
// Errors of reading and writing files, independent of their content.

#include <string>

#include "s2s/error.h"

namespace s2s {

/// [io/write]: `action` ("cannot write") on `path` failed with `error_number` (errno). An existing
/// file at `path` has not changed.
Error write_error(const std::string& path, const std::string& action, int error_number);

/// The text that every command uses for an output that already exists.
std::string exists_text(const std::string& path);
/// [io/exists]: the same text as an error.
Error exists_error(const std::string& path);

/// [io/read]: a file that probably exists cannot be read now (EIO, EMFILE, EACCES).
Error read_error(const std::string& path, int error_number);
/// [io/line]: no line break within `max_bytes` bytes at byte `at` of a file of lines.
Error line_error(const std::string& path, size_t at, size_t max_bytes);
/// Whether an errno means that there is no such file, or that it is not a file (ENOENT, EISDIR), so
/// that trying again would not help. Other errors are no reason to continue without the file.
bool says_no_file(int error_number);

}  // namespace s2s
