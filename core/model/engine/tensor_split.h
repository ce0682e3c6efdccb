#pragma once
// Applies the tensor axis of a plan: splits parameters, and exchanges activations at the hooks of
// blocks (core/docs/internals/sharding.md has the table of exchanges).
// Outside of split regions, an activation with layout `full` has the same values and the same
// complete gradient on all ranks of the axis. All ranks read the same batch.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/tensor_exchange.h"
#include "engine/tensor_placement.h"
#include "plan/mesh.h"
#include "plan/planned_model.h"
#include "s2s/nn/layers.h"
#include "s2s/nn/vocabulary.h"

namespace s2s {

class TensorSplit {
 public:
  /// Replaces the model's parameters by this rank's part and prepares the hooks. The members get
  /// new tensors with unchanged requires_grad; meta members stay meta. The plan must be checked,
  /// and the tensor axis larger than 1. `model` and `mesh` must outlive this object.
  TensorSplit(Block& model, const ShardPlan& plan, const MeshGroups& mesh);
  ~TensorSplit();
  TensorSplit(const TensorSplit&) = delete;
  TensorSplit& operator=(const TensorSplit&) = delete;

  /// Process the input and the output of the author's forward. In between, a rowwise layer has no
  /// bias. Positions are split during training. One-token decoding uses plain tensor parallelism.
  at::Tensor before(Block& block, const at::Tensor& x);
  at::Tensor after(Block& block, const at::Tensor& y);

  /// Length of the current sequences when positions are split; 0: each rank has all positions.
  int64_t length() const { return length_; }
  /// During its lifetime, a recomputed call uses the length of its first run.
  class LengthScope {
   public:
    LengthScope(TensorSplit& split, int64_t length);
    ~LengthScope();
    LengthScope(const LengthScope&) = delete;
    LengthScope& operator=(const LengthScope&) = delete;

   private:
    TensorSplit& split_;
    int64_t before_;
    bool is_other_;
  };

  /// Returns the vocabulary split of a head; null when its rows are not split.
  const VocabularySplit* vocabulary_split(const Block& block) const;
  /// True if `before` and `after` return what they are given.
  bool leaves_alone(const Block& block) const;
  /// `parameter`: the address of the member (NamedTensor::tensor).
  const TensorPlacement& share(const at::Tensor* parameter) const;

 private:
  enum class Entry { kNone, kEnter, kOpen, kClose, kLookUp };
  enum class Exit { kNone, kLeave, kScatter, kGather };

  struct Hook {
    std::string path;
    Entry entry = Entry::kNone;
    Exit exit = Exit::kNone;
    TensorSpan ids;  // rows of a split table on this rank
    // Of the current look-up: true where another rank has the row, [..., 1] bool.
    at::Tensor elsewhere;
    at::Tensor* bias = nullptr;  // of a rowwise layer: added once, after the all-reduce
    at::Tensor bias_taken;       // saved while the author's forward runs
    std::unique_ptr<VocabularySplit> vocabulary;
  };

  void cut(const PlannedParameter& parameter, at::Tensor& member, const ShardPlan& plan);
  void prepare_hooks(Block& model, const ShardPlan& plan);
  void add_row(Hook& hook, const TensorRow& row, const ShardPlan& plan);
  void add_table(Hook& hook, Block& block, int64_t num_rows, int64_t groups);
  Communicator* holders_of_partial(const PlannedParameter& parameter, const ShardPlan& plan);
  bool splits_positions(const Block& block) const;
  at::Tensor look_up(Hook& hook, const at::Tensor& ids) const;
  at::Tensor looked_up(Hook& hook, const at::Tensor& rows) const;
  at::Tensor exchanged(const Hook& hook, const at::Tensor& x, const ExchangePair& pair) const;

  const MeshGroups& mesh_;
  bool has_split_positions_ = false;  // required by the plan and the mesh
  bool trains_on_split_ = false;      // a trained parameter's gradient depends on split positions
  int64_t length_ = 0;                // see length()
  std::map<int64_t, std::unique_ptr<Communicator>> copy_groups_;  // by size
  std::unordered_map<const at::Tensor*, TensorPlacement> shares_;
  std::unordered_map<const Block*, Hook> hooks_;
};

}  // namespace s2s
