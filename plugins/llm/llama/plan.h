#pragma once

#include "s2s/parallel/plan.h"

namespace s2s::llama {

/// Tensor and sequence parallel rows of the decoder proper.
std::vector<TensorRow> tensor_rows();
std::vector<UnitRow> unit_rows();

}  // namespace s2s::llama
