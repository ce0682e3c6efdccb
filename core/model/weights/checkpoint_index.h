#pragma once
// index.json of a checkpoint: the position of every element of every tensor in the files, and the
// checksums of all files. (core/docs/start/runs.md)

#include <ATen/core/Tensor.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weights/block_checksums.h"
#include "weights/tensor_runs.h"

namespace s2s {

/// Elements of a tensor. `file` stores them under the tensor's name, in the order of the runs.
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

  int64_t num_ranks = 1;                       // number of ranks that wrote the checkpoint
  std::map<std::string, FileChecksums> files;  // files of the folder, except the index
  std::map<std::string, IndexGroup> groups;    // "model", "optimizer"
};

/// Returns the name of a rank's file: GROUP.safetensors with one rank,
/// GROUP-RRRRR-of-WWWWW.safetensors with several.
std::string rank_file_name(const std::string& group, int64_t rank, int64_t num_ranks);

/// Adds the entries of another rank.
void merge(CheckpointIndex& index, const CheckpointIndex& more);
/// Returns why the shards do not cover every element of the tensor exactly once, or "".
std::string tiling_fault(const TensorEntry& tensor);

/// Returns the text of the index, including its own checksum.
std::string format_checkpoint_index(const CheckpointIndex& index);
/// Parses an index. `path` is for messages. The result is safe to compute with: sizes, products and
/// runs fit in 63 bits, no shard has more elements than its file can contain, and file names stay
/// within the folder. Errors: [checkpoint/damaged].
CheckpointIndex parse_checkpoint_index(const std::string& path, const std::string& text);
/// Reads the index of a checkpoint folder. Errors: [checkpoint/incomplete], [checkpoint/damaged].
CheckpointIndex read_checkpoint_index(const std::string& folder);

}  // namespace s2s
