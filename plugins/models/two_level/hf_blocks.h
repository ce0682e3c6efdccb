#pragma once
// What the config.json files of both models share.

#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s::two_level {

/// Keys without effect on the results of these models: the codec, how text and audio are laid out,
/// generation, and the blocks that reference files add.
const std::vector<std::string>& shared_ignored();

/// The entries of `options` with these keys, those that are missing left out.
Config only_keys(const Config& options, const std::vector<std::string>& keys);

}  // namespace s2s::two_level
