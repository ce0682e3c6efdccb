#pragma once
// The buffers of a model, which every rank holds whole: a frozen codec's weights, statistics of
// norms, windows and tables.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

/// The buffers of one part of a model.
struct PlanBuffers {
  std::string part;  // the path of a codec, else a child of the model
  int64_t tensors = 0, elements = 0, bytes = 0;
};

/// In the order of the model. A buffer that its block computes later, and that has no size yet, is
/// not counted (compute_meta_buffers).
std::vector<PlanBuffers> planned_buffers(Block& model);

/// Gives the buffers of a meta model their sizes, without memory. The model becomes a meta model
/// (InitialValues): it must not have parameters that are needed.
void compute_meta_buffers(Block& model);

}  // namespace s2s
