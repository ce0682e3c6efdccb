#pragma once
// A Config tree as JSON, for --json.

#include <nlohmann/json.hpp>

#include "s2s/config.h"

namespace s2s {

/// Plain scalars become what YAML says they are; .inf and .nan, which JSON lacks, become text.
nlohmann::ordered_json config_json(const Config& config);

/// The origin of every value, by dotted path.
nlohmann::ordered_json origins_json(const Config& config);

}  // namespace s2s
