#pragma once
// ParallelStrategy: distributes a model over the ranks of a run. Kind `strategy`.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/parallel/local_shard.h"
#include "s2s/parallel/plan.h"

namespace s2s {

class InitialValues;
class Model;
struct Batch;
struct LossTerms;
struct StepContext;

/// The forwards and backwards of a step's micro-batches, as the training loop wants them. The
/// strategy decides about their order.
class MicroBatchPasses {
 public:
  using Forward = std::function<LossTerms(const StepContext&)>;
  virtual ~MicroBatchPasses();
  /// Runs the forward of a micro-batch, 0-based, with its random numbers and the autocast of the
  /// run, and counts its losses. Returns what backward begins from: the total times the loss scale.
  /// A forward that ends before the losses (an earlier stage of a pipeline) leaves the total
  /// undefined.
  virtual at::Tensor forward(int64_t index, const Forward& forward) = 0;
  /// gradient: of the output; undefined for a loss.
  virtual void backward(const at::Tensor& output, const at::Tensor& gradient) = 0;
};

/// The only code that changes a model for a layout. Every rank calls the same functions in the same
/// order:
///
///   attach; then for each step begin_step, run_micro_batches, grad_norm, Optimizer::step,
///   after_update. scale_gradients may be called before or after grad_norm.
///
/// A step on a device makes the host wait for nothing that the strategy does not have to know.
class ParallelStrategy {
 public:
  virtual ~ParallelStrategy();
  /// Sizes of the axes; their product is the number of ranks.
  virtual MeshShape mesh() const = 0;
  /// This rank's index among the mesh().data_size() parts of the data.
  virtual int64_t data_rank() const = 0;
  /// Prepares a materialized model. Its initial values are the same on all ranks, and it is already
  /// set which parameters are frozen.
  virtual void attach(Block& model, const ShardPlan& plan) = 0;
  /// The same for a meta model; `values` has its initial values and the target device. Strategies
  /// that shard parameters create their shards one after another here, so that no rank holds the
  /// whole model. Default: materializes the whole model and calls `attach`.
  virtual void attach_meta(Block& model, const ShardPlan& plan, const InitialValues& values);
  /// The tensors that the optimizer updates, under the model's names: this rank's shard of each
  /// parameter that requires gradients. Default: the parameters themselves.
  virtual std::vector<NamedTensor> optimizer_parameters(Block& model);
  /// This rank's shards of parameters and persistent buffers. Callers may write to the tensors and
  /// must call after_update afterwards. Default: the whole tensors.
  virtual std::vector<LocalShard> parts(Block& model);
  /// Clears the gradients of the previous step.
  virtual void begin_step(Block& model);
  /// Runs forward and backward of this rank's micro-batches. Gradients are complete on return.
  /// Default: one micro-batch after the other, (begin_micro_batch, forward, backward) each, then
  /// finish_backward.
  virtual void run_micro_batches(Model& model, const std::vector<Batch>& batches,
                                 MicroBatchPasses& passes);
  /// Called before the forward of a micro-batch. `is_last`: the last of the optimizer step; its
  /// backward completes the gradients, which may be reduced as they become ready.
  virtual void begin_micro_batch(Block& model, bool is_last);
  /// Called after the backward of the last micro-batch. Gradients are complete on return.
  virtual void finish_backward(Block& model) = 0;
  /// Multiplies all gradients, once they are complete.
  virtual void scale_gradients(Block& model, double factor);
  /// Returns the global norm of all gradients: float64 without dimensions, equal on all ranks,
  /// where the gradients are. The host need not wait for it.
  virtual at::Tensor grad_norm(Block& model) = 0;
  /// Called after the tensors of optimizer_parameters or `parts` have new values.
  virtual void after_update(Block& model);
  /// Sums each value over the data ranks; the result is bit-identical on all ranks. Ranks that read
  /// the same data contribute their mean, so that a value that only one of them has set is not
  /// lost. values: float64, one dim, on any device. The sums may be on another one, and the host
  /// need not wait for them.
  virtual at::Tensor reduce_over_data(const at::Tensor& values) = 0;
  /// The same for values of the host, which waits. For loss normalizers and metrics.
  std::vector<double> sum_over_data(const std::vector<double>& values);
  /// Gathers the texts of all data ranks, in their order, on every rank of the run. For messages
  /// and small reports. Ranks that read the same data have the same text. Default: this rank's
  /// text, for a mesh with one data rank; other strategies call all_gather_texts on their data
  /// axis.
  virtual std::vector<std::string> gather_texts(const std::string& text);
};

}  // namespace s2s
