#pragma once
// A Config tree as bytes, for trees that a parser process made.

#include <string>
#include <string_view>

#include "s2s/config.h"

namespace s2s {

/// Leaves out the names of sources: a parser process reads only one.
std::string config_to_bytes(const Config& tree);
/// `source`: the file's path. Errors: std::runtime_error if the bytes are not a tree, or a tree of
/// more than kMostConfigLevels levels.
Config config_from_bytes(std::string_view bytes, const std::string& source);

inline constexpr int kMostConfigLevels = 1000;

}  // namespace s2s
