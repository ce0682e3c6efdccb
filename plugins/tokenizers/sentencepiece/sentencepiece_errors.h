#pragma once

#include <string>

#include "s2s/error.h"

namespace s2s::sentencepiece_plugin::errors {

Error no_path(const std::string& place);
Error missing_file(const std::string& place, const std::string& path);
Error unreadable(const std::string& place, const std::string& path, const std::string& reason);
/// [io/read]: the file exists but cannot be read at the moment.
Error cannot_read_now(const std::string& path, const std::string& reason);
/// `reason`: the property of the model that transformers cannot express.
Error no_transformers(const std::string& place, const std::string& reason);
Error training(const std::string& place, const std::string& reason);

}  // namespace s2s::sentencepiece_plugin::errors
