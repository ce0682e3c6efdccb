#pragma once
// Checks what a model says about the stages of a pipeline.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "s2s/kinds/model.h"

namespace s2s::test {

/// Each parameter is in exactly one part, and the layers of the language model at `path` are
/// between the embedding and the heads.
inline void check_stages(Model& model, size_t num_layers, const std::string& path = "llm") {
  const std::vector<StagePart> parts = model.stages();
  REQUIRE(parts.size() == num_layers + 2);
  CHECK(parts.front().name == "embedding");
  CHECK(parts.back().name == "heads");
  for (size_t i = 0; i < num_layers; ++i) {
    CHECK(parts[i + 1].name == "layers." + std::to_string(i));
    CHECK(parts[i + 1].blocks == std::vector<std::string>{path + ".layers." + std::to_string(i)});
  }
  for (const NamedTensor& parameter : model.named_parameters()) {
    int count = 0;
    for (const StagePart& part : parts) {
      for (const std::string& block : part.blocks) {
        if (parameter.name.starts_with(block + ".")) ++count;
      }
    }
    INFO(parameter.name);
    CHECK(count == 1);
  }
}

}  // namespace s2s::test
