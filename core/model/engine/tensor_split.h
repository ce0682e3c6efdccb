#pragma once
// A plan's tensor axis, made real: parameters are cut to a rank's part, and blocks' hooks exchange
// activations (core/docs/internals/sharding.md has the table that this follows).
//
// An activation whose layout is `full` has the same values and the same whole gradient on all ranks
// of the axis, outside of split regions. All ranks read the same batch.

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
  /// Cuts the model's parameters to this rank's part (new tensors in the members, requires_grad as
  /// it was; without memory, where they have none) and prepares the hooks. The plan has passed its
  /// check, the mesh's tensor axis is larger than 1; `model` and `mesh` live on.
  TensorSplit(Block& model, const ShardPlan& plan, const MeshGroups& mesh);
  ~TensorSplit();
  TensorSplit(const TensorSplit&) = delete;
  TensorSplit& operator=(const TensorSplit&) = delete;

  /// Around the author's forward: its input, and its output. Between the two a rowwise layer has no
  /// bias. Positions are split while blocks train; one-token decoding is plain tensor parallelism.
  at::Tensor before(Block& block, const at::Tensor& x);
  at::Tensor after(Block& block, const at::Tensor& y);

  /// Positions of the sequences under way; 0: each rank has all of them.
  int64_t length() const { return length_; }
  /// While it lives, a call that runs again sees the length of its first run.
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

  /// Of a head whose rows are split; else null.
  const VocabularySplit* vocabulary_split(const Block& block) const;
  /// By the member's address (NamedTensor::tensor).
  const TensorPlacement& share(const at::Tensor* parameter) const;

 private:
  enum class Entry { kNone, kEnter, kOpen, kClose, kLookUp };
  enum class Exit { kNone, kLeave, kScatter, kGather };

  /// What a block's rows ask of its hook.
  struct Hook {
    std::string path;
    Entry entry = Entry::kNone;
    Exit exit = Exit::kNone;
    TensorSpan ids;              // rows of a split table that are here
    at::Tensor elsewhere;        // of the look-up under way: [..., 1] bool
    at::Tensor* bias = nullptr;  // a rowwise layer's: added once, behind the sum
    at::Tensor bias_taken;       // while the author's forward runs
    std::unique_ptr<VocabularySplit> vocabulary;
  };

  void cut(const PlannedParameter& parameter, at::Tensor& member, const ShardPlan& plan);
  void prepare_doors(Block& model, const ShardPlan& plan);
  void add_row(Hook& hook, const TensorRow& row, const ShardPlan& plan);
  void add_table(Hook& hook, Block& block, int64_t num_rows, int64_t groups);
  Communicator* holders_of_partial(const PlannedParameter& parameter, const ShardPlan& plan);
  bool splits_positions(const Block& block) const;
  at::Tensor look_up(Hook& hook, const at::Tensor& ids) const;
  at::Tensor looked_up(Hook& hook, const at::Tensor& rows) const;
  at::Tensor exchanged(const Hook& hook, const at::Tensor& x, const ExchangePair& pair) const;

  const MeshGroups& mesh_;
  bool has_split_positions_ = false;  // the plan and the mesh ask for them
  bool trains_on_split_ = false;      // some trained parameter's gradient counts on it
  int64_t length_ = 0;                // see length()
  std::map<int64_t, std::unique_ptr<Communicator>> copy_groups_;  // by their size
  std::unordered_map<const at::Tensor*, TensorPlacement> shares_;
  std::unordered_map<const Block*, Hook> hooks_;
};

}  // namespace s2s
