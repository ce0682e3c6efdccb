#pragma once
// The parts of a ConformerEncoder, for the stack and its stream.

#include <memory>
#include <vector>

#include "nn/speech/conformer_layer.h"

namespace s2s {

struct ConformerEncoder::Parts {
  ConformerOptions options;
  std::string path;
  std::vector<ConformerOptions::Context> contexts;
  std::unique_ptr<Linear> linear;  // one of linear and striding
  std::unique_ptr<StridingSubsampling> striding;
  std::vector<std::unique_ptr<ConformerLayer>> layers;
  std::unique_ptr<Linear> out_proj;  // null without one
  PositionBiases tied;
  ShardPlan plan;
  at::Tensor visible_TT, positions_PH;  // of the last shape
  ConformerOptions::Context visible_context{-1, -1};

  const at::Tensor& first_weight() const { return striding ? striding->weight() : linear->weight; }
};

}  // namespace s2s
