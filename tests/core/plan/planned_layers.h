#pragma once
// A small model that the tests of plans cut.

#include <memory>
#include <string>
#include <vector>

#include "s2s/nn/layers.h"

namespace s2s::test {

struct PlannedLayer : Block {
  PlannedLayer() {
    register_block("norm", norm);
    register_block("up", up);
    register_block("down", down);
  }
  RmsNorm norm{12, 1e-5};
  Linear up{12, 24};
  Linear down{24, 12};
};

/// A table and three layers; `tied`: the table is the head as well.
struct PlannedLayers : Block {
  explicit PlannedLayers(bool tied = false) {
    register_block("table", table);
    for (int i = 0; i < 3; ++i) {
      layers.push_back(std::make_unique<PlannedLayer>());
      register_block("layers." + std::to_string(i), *layers.back());
    }
    if (tied) register_block("head", table);
  }
  Embedding table{10, 12};
  std::vector<std::unique_ptr<PlannedLayer>> layers;
};

}  // namespace s2s::test
