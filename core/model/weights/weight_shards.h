#pragma once
// Writes weights as a folder that transformers can load: one file, or shards and their index.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "s2s/nn/block.h"

namespace s2s {

/// Settings for writing a folder of weights.
struct ShardSettings {
  uint64_t max_shard_bytes = 5'000'000'000;  // default of transformers' save_pretrained
  std::optional<at::ScalarType> float_type;  // dtype for floating-point tensors; not set: unchanged
};

/// Summary of the written files. Units: bytes of tensors.
struct WrittenShards {
  int64_t num_files = 0;
  uint64_t total_bytes = 0;
};

/// Writes model.safetensors. If the tensors do not fit in one file, writes shards
/// model-0000I-of-0000N.safetensors, and model.safetensors.index.json with the file of each tensor.
/// A tensor larger than a shard gets its own file. Removes such files of an earlier export. Needs
/// memory for at most one tensor in addition to the arguments.
/// Errors: [io/write], [weights/dtype].
/// Source: transformers PreTrainedModel.save_pretrained, huggingface_hub serialization.
WrittenShards write_weight_shards(const std::string& folder, const TensorMap& tensors,
                                  const ShardSettings& settings);

}  // namespace s2s
