#pragma once

#include <string>

#include "s2s/error.h"

namespace s2s::hf::errors {

Error no_path(const std::string& place);
Error missing_file(const std::string& place, const std::string& path);
/// A file of the tokenizer's folder is a link to a file outside. The run would copy that file.
Error link_out(const std::string& place, const std::string& file, const std::string& target);
/// The file is not valid JSON. `reason`: where parsing stopped.
Error unreadable(const std::string& place, const std::string& path, const std::string& reason);

/// `where`: file and path in the file ("FILE: normalizer.normalizers[1].type").
Error unsupported(const std::string& where, const std::string& value, const std::string& expected);
Error definition(const std::string& where, const std::string& value, const std::string& expected);
Error pattern_limit(const std::string& pattern, size_t num_bytes);
Error text_growth(size_t given_bytes, size_t num_bytes);

Error unknown_special(const std::string& place, const std::string& where, const std::string& token,
                      const std::string& name);

}  // namespace s2s::hf::errors
