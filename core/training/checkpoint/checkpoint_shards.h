#pragma once
// Selects what a rank writes into a checkpoint: its elements and their positions in full tensors.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/pinned_blocks.h"
#include "s2s/nn/block.h"
#include "s2s/parallel/local_shard.h"
#include "weights/checkpoint_index.h"

namespace s2s {

/// A file of a rank, before it is written.
struct RankFile {
  std::string group;  // "model", "optimizer" or "random"
  TensorMap tensors;  // full tensors in their shape, shards flat
  IndexGroup shards;  // of every tensor of this rank; the file name is not set yet
};

/// Returns all tensors that a checkpoint contains of an unsharded model.
std::vector<LocalShard> whole_parts(Block& model);

/// Returns the shards of the model that this rank owns.
RankFile model_shards(const std::vector<LocalShard>& parts);

/// Returns the optimizer state to write. A state tensor with as many elements as its parameter
/// shard (named `NAME.suffix`) is sharded in the same way. A scalar state is written by the owner
/// of the parameter's first element. `rank`: of the run; rank 0 writes states that belong to no
/// parameter. is_whole: true for the name of a state that every rank has as a whole. Errors:
/// std::runtime_error for a state that is sharded differently.
RankFile optimizer_shards(const TensorMap& state, const std::vector<LocalShard>& parts,
                          int64_t rank,
                          const std::function<bool(const std::string&)>& is_whole = {});

/// Finds shards by name. The shards must outlive this object.
class PartsByName {
 public:
  explicit PartsByName(const std::vector<LocalShard>& parts);
  const LocalShard* find(const std::string& name) const;
  /// Returns the shard that an optimizer state tensor is named after, or null.
  const LocalShard* of_state(const std::string& name) const;

 private:
  std::map<std::string, const LocalShard*> parts_;
};

/// Returns true for a state tensor that is sharded like its parameter.
bool is_cut_like(const at::Tensor& state, const LocalShard& part);

/// Copies the tensors of files into reused memory, which grows to the largest set so far. If some
/// are on a GPU, it is pinned and in blocks. The originals may change after the call.
class StagingBuffer {
 public:
  void stage(std::vector<RankFile>& files);
  uint64_t bytes() const { return memory_ ? static_cast<uint64_t>(memory_->bytes()) : 0; }

 private:
  std::optional<PinnedBlocks> memory_;
};

}  // namespace s2s
