#pragma once
// Common keys of both models in config.json.

#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s::two_level {

/// Keys without effect on the results: codec, layout of text and audio, generation, and blocks of
/// reference files.
const std::vector<std::string>& shared_ignored();

/// The entries of `options` with these keys. Skips missing ones.
Config only_keys(const Config& options, const std::vector<std::string>& keys);

}  // namespace s2s::two_level
