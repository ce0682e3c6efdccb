#pragma once
// The errors of score.

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::run::score_errors {

/// There is no such file.
Error no_file(const std::string& path);
/// A line is no JSON object.
Error no_object(const std::string& path, int64_t line, const std::string& what);
/// A line has no text under the key. `keys`: those that it has; `tried`: those that were looked
/// for.
Error no_text(const std::string& path, int64_t line, const std::string& kind,
              const std::string& tried, const std::string& keys);
/// A file has no lines.
Error no_examples(const std::string& path);
/// Two files have other examples. `difference`: "240 and 238 examples", "id 'a' is in one only".
Error other_examples(const std::string& first, const std::string& second,
                     const std::string& difference);

}  // namespace s2s::run::score_errors
