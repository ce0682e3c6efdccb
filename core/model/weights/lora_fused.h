#pragma once
// Adapters of layers that another program's class computes as one layer (the qkv_proj of Phi-3).

#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"

namespace s2s {

/// lora_tensors for a class that joins layers as its files join their weights (fused_rows.h). The
/// adapters of such layers are one adapter: A has the rows of all, and B their blocks on its
/// diagonal, so that the update is the same. Its rank is the sum of theirs.
TensorMap joined_lora_tensors(Block& root, const NameMap& names);

/// The modules that `tensors` of an adapter adapt, by their whole names.
std::vector<std::string> adapted_modules(const TensorMap& tensors);

}  // namespace s2s
