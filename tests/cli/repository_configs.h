#pragma once
// The configurations that the repository ships.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "common/places.h"

namespace s2s::test {

/// The files of configs/, in the order of their names.
inline std::vector<std::string> repository_configs() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/configs")) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace s2s::test
