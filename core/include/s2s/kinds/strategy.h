#pragma once
// ParallelStrategy: how a model is spread over the ranks of a run. Kind `strategy`.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/parallel/local_shard.h"
#include "s2s/parallel/plan.h"

namespace s2s {

class InitialValues;

/// The only code that changes a model for a layout. Every rank calls the same functions in the same
/// order:
///
///   attach; then for each step begin_step, (begin_micro_batch, forward, backward) for each of its
///   micro-batches, finish_backward, scale_gradients, clip_grad_norm, Optimizer::step,
///   after_update.
class ParallelStrategy {
 public:
  virtual ~ParallelStrategy();
  /// Sizes of the axes; their product is the number of ranks.
  virtual MeshShape mesh() const = 0;
  /// This rank's place among mesh().data_size() parts of the data.
  virtual int64_t data_rank() const = 0;
  /// Takes a model that has its memory and initial values, the same on all ranks, and knows what is
  /// frozen.
  virtual void attach(Block& model, const ShardPlan& plan) = 0;
  /// The same for a model that is only described: `values` has its initial values, and knows where
  /// they are to live. Strategies that split parameters make their parts one after the other here,
  /// so that no rank holds the whole model. Here: gives all of it memory and values, and attaches.
  virtual void attach_meta(Block& model, const ShardPlan& plan, const InitialValues& values);
  /// What the optimizer updates, under the model's names: this rank's part of each parameter that
  /// requires gradients. Here: the parameters themselves.
  virtual std::vector<NamedTensor> optimizer_parameters(Block& model);
  /// What this rank holds of parameters and stored buffers; their tensors may be written to, and
  /// after_update says so. Here: all of them.
  virtual std::vector<LocalShard> parts(Block& model);
  /// Forgets the gradients of the step before.
  virtual void begin_step(Block& model);
  /// Before the forward of a micro-batch. `is_last`: of the optimizer step, its backward completes
  /// the gradients, and they may be reduced as they come.
  virtual void begin_micro_batch(Block& model, bool is_last);
  /// After the last micro-batch's backward: gradients are complete on return.
  virtual void finish_backward(Block& model) = 0;
  /// Multiplies all gradients, once they are complete.
  virtual void scale_gradients(Block& model, double factor);
  /// Global norm of all gradients, in float32; gradients are scaled when it exceeds max_norm > 0.
  /// The same number on all ranks.
  virtual double clip_grad_norm(Block& model, double max_norm) = 0;
  /// The parts (of optimizer_parameters, or of `parts`) have new values.
  virtual void after_update(Block& model);
  /// Each value's sum over the data ranks, the same bits on all ranks of the run: for loss
  /// normalizers and metrics. Of ranks that read the same data the mean counts, so that a value
  /// that one rank alone has set does not vanish.
  virtual std::vector<double> sum_over_data(std::vector<double> values) = 0;
  /// The texts of all data ranks, in their order, on every rank of the run: for messages and small
  /// reports. Ranks that read the same data have the same text. Here: this rank's, for a mesh of
  /// one data rank; others call all_gather_texts over theirs.
  virtual std::vector<std::string> gather_texts(const std::string& text);
};

}  // namespace s2s
