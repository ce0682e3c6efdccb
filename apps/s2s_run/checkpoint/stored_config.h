#pragma once
// Single values of the configuration that a checkpoint stores.

#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s::run {

/// config.yaml of a checkpoint, read as load_config_safely does. The command tells what it drops.
Config stored_config(const std::string& checkpoint);

/// The text at `path` (keys), its interpolations resolved. Nothing for null, for a map or list, and
/// for a value that names a variable that is not set here; other parts of the configuration may.
std::optional<std::string> stored_text(Config& config, const std::vector<std::string>& path);

/// The same for a whole number.
std::optional<int64_t> stored_number(Config& config, const std::vector<std::string>& path);

}  // namespace s2s::run
