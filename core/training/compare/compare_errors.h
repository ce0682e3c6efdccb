#pragma once
// What a reference file can get wrong.

#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::compare_errors {

/// [reference/metadata] a key that is missing or has another value than expected.
Error metadata(const std::string& path, const std::string& key, const std::string& value,
               const std::string& expected);
/// [reference/no-input] a tensor that the kind needs.
Error no_input(const std::string& path, const std::string& kind, const std::string& name);
/// [reference/translate] a component that reads no foreign configurations.
Error no_translation(const std::string& path, const std::string& kind, const std::string& name);
/// [reference/dtype] a --dtype that is not known.
Error dtype(const std::string& text);
/// [reference/device] a --device that is not known or not there.
Error device(const std::string& text, const std::string& why);

}  // namespace s2s::compare_errors
