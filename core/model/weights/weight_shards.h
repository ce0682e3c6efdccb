#pragma once
// Weights as a folder that transformers loads: one file, or shards and their index.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "s2s/nn/block.h"

namespace s2s {

/// How a folder of weights is written.
struct ShardSettings {
  uint64_t max_shard_bytes = 5'000'000'000;  // as transformers' save_pretrained
  std::optional<at::ScalarType> float_type;  // what floating tensors become; none: they stay
};

/// What was written. Units: bytes of tensors.
struct WrittenShards {
  int64_t num_files = 0;
  uint64_t total_bytes = 0;
};

/// Writes model.safetensors, or, when the tensors do not fit one file, shards
/// model-0000I-of-0000N.safetensors and model.safetensors.index.json, which says where each tensor
/// is. A tensor that is larger than a shard has one of its own. What an earlier export left of
/// these files is removed. Holds at most one tensor beside those given.
/// Errors: [io/write], [weights/dtype].
/// Source: transformers PreTrainedModel.save_pretrained, huggingface_hub serialization.
WrittenShards write_weight_shards(const std::string& folder, const TensorMap& tensors,
                                  const ShardSettings& settings);

}  // namespace s2s
