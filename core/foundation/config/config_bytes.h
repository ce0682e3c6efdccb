#pragma once
// A Config tree as bytes, for trees that a parser process made.

#include <string>
#include <string_view>

#include "s2s/config.h"

namespace s2s {

/// All of the tree but the names of its sources: what a parser process makes has one source.
std::string config_to_bytes(const Config& tree);
/// `source`: the file's path. Errors: std::runtime_error for bytes that are no tree, or one of more
/// than kMostConfigLevels levels.
Config config_from_bytes(std::string_view bytes, const std::string& source);

inline constexpr int kMostConfigLevels = 1000;

}  // namespace s2s
