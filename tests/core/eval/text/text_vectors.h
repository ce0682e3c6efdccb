#pragma once
// Golden vectors that tests/reference made.

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "common/reference_json.h"

namespace s2s::test {

/// Random texts with their scores: the committed ones, or a bigger set named by S2S_TEXT_METRICS.
inline nlohmann::json random_texts() {
  const char* path = std::getenv("S2S_TEXT_METRICS");
  if (path == nullptr) return reference_json("text_metrics.json.gz");
  return nlohmann::json::parse(files::read_all_bytes(path, "a file of golden vectors"));
}

}  // namespace s2s::test
