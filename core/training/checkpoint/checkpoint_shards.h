#pragma once
// What a rank writes of a checkpoint: the elements it owns, and which of the whole they are.

#include <map>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/parallel/local_shard.h"
#include "weights/checkpoint_index.h"

namespace s2s {

/// A file of a rank, before it is written.
struct RankFile {
  std::string group;  // "model", "optimizer" or "random"
  TensorMap tensors;  // whole tensors in their shape, shards flat
  IndexGroup shards;  // of every tensor of this rank; the file's name is not yet in them
};

/// All that checkpoints hold of a model that is whole here.
std::vector<LocalShard> whole_parts(Block& model);

/// Parts of the model that this rank is the owner of.
RankFile model_shards(const std::vector<LocalShard>& parts);

/// The optimizer's state: what is as long as the part that it is named after (`NAME.suffix`) is cut
/// like it; elements without dims belong to the rank that has the first number of that part.
/// rank: of the run; state of no part is rank 0's. Errors: std::runtime_error for a state that is
/// cut in another way.
RankFile optimizer_shards(const TensorMap& state, const std::vector<LocalShard>& parts,
                          int64_t rank);

/// Parts by their names. The parts must live on.
class PartsByName {
 public:
  explicit PartsByName(const std::vector<LocalShard>& parts);
  const LocalShard* find(const std::string& name) const;
  /// The part that a tensor of the optimizer's state is named after, or null.
  const LocalShard* of_state(const std::string& name) const;

 private:
  std::map<std::string, const LocalShard*> parts_;
};

/// True for a state tensor that is cut like its part.
bool is_cut_like(const at::Tensor& state, const LocalShard& part);

/// Copies of files' tensors in one block of memory that is used again, as large as the largest set
/// so far. Tensors on a GPU are copied to pinned memory. On return the originals may change.
class StagingBuffer {
 public:
  void stage(std::vector<RankFile>& files);
  uint64_t bytes() const { return memory_.defined() ? memory_.nbytes() : 0; }

 private:
  at::Tensor memory_;
};

}  // namespace s2s
