#pragma once
// Mistakes in files of lines and JSON. Ids are listed in core/docs/errors.md.

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::files_errors {

/// `place` is "file:line" or "file:line: cut 'id'".
Error missing_manifest(const std::string& path);
Error gzip(const std::string& path, int64_t line, const std::string& reason);
Error json(const std::string& place, const std::string& reason);
Error field(const std::string& place, const std::string& name, const std::string& found,
            const std::string& expected);

}  // namespace s2s::files_errors
