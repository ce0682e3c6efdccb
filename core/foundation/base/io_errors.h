#pragma once
// Errors of reading and writing files, whatever is in them.

#include <string>

#include "s2s/error.h"

namespace s2s {

/// [io/write]: `action` ("cannot write") on `path` failed with `error_number` (errno). What was at
/// `path` before is still there.
Error write_error(const std::string& path, const std::string& action, int error_number);

/// What every command says of an output that is there already.
std::string exists_text(const std::string& path);
/// [io/exists]: the same as an error.
Error exists_error(const std::string& path);

/// [io/read]: a file that is there, as far as one knows, cannot be read now (EIO, EMFILE, EACCES).
Error read_error(const std::string& path, int error_number);
/// [io/line]: no line break within `max_bytes` bytes at byte `at` of a file of lines.
Error line_error(const std::string& path, size_t at, size_t max_bytes);
/// True for an errno that says that no such file is there, or something that is no file (ENOENT,
/// EISDIR): it would be the same the next time. What is not so is no reason to do without the file.
bool says_no_file(int error_number);

}  // namespace s2s
