#pragma once
// Golden vectors that tests/reference made.

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/places.h"

namespace s2s::test {

inline nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path);
  return nlohmann::json::parse(file);
}

inline nlohmann::json reference_json(const std::string& name) {
  return read_json(s2s::test::source_dir() + "/tests/reference/data/" + name);
}

/// Random texts with their scores: the committed ones, or a bigger set named by S2S_TEXT_METRICS.
inline nlohmann::json random_texts() {
  const char* path = std::getenv("S2S_TEXT_METRICS");
  return path ? read_json(path) : reference_json("text_metrics.json");
}

}  // namespace s2s::test
