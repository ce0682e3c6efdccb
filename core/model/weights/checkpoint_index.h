#pragma once
// index.json of a checkpoint: which elements of which tensor lie in which file, and the checksums
// of every file. (core/docs/start/runs.md)

#include <ATen/core/Tensor.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weights/block_checksums.h"
#include "weights/tensor_runs.h"

namespace s2s {

/// Elements of a tensor; they lie under the tensor's name in `file`, in the order of the runs.
struct StoredShard {
  std::string file;
  std::vector<SpanRun> runs;
};

struct TensorEntry {
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> sizes;
  std::vector<StoredShard> shards;
};

using IndexGroup = std::map<std::string, TensorEntry>;

struct CheckpointIndex {
  static constexpr const char* kFile = "index.json";

  int64_t num_ranks = 1;                       // that wrote it
  std::map<std::string, FileChecksums> files;  // of the folder, but for the index itself
  std::map<std::string, IndexGroup> groups;    // "model", "optimizer"
};

/// The name of a rank's file: GROUP.safetensors of one rank, GROUP-RRRRR-of-WWWWW.safetensors of
/// several.
std::string rank_file_name(const std::string& group, int64_t rank, int64_t num_ranks);

/// Adds what another rank wrote.
void merge(CheckpointIndex& index, const CheckpointIndex& more);
/// What keeps the shards from being every element of the tensor once; "" when nothing does.
std::string tiling_fault(const TensorEntry& tensor);

/// With a checksum of its own.
std::string format_checkpoint_index(const CheckpointIndex& index);
/// `path` is for messages. What it gives is safe to compute with: sizes, products and runs fit 63
/// bits, no shard has more elements than its file has room for, and names of files stay within the
/// folder. Errors: [checkpoint/damaged].
CheckpointIndex parse_checkpoint_index(const std::string& path, const std::string& text);
/// The index of a checkpoint's folder. Errors: [checkpoint/incomplete], [checkpoint/damaged].
CheckpointIndex read_checkpoint_index(const std::string& folder);

}  // namespace s2s
