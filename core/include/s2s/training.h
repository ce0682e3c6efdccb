#pragma once
// The small interfaces of a training run: kinds `optimizer`, `schedule`, `strategy`, `metric`,
// `logger`.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "s2s/block.h"
#include "s2s/local_shard.h"
#include "s2s/plan.h"

namespace s2s {

class InitialValues;

class Optimizer {
 public:
  virtual ~Optimizer();
  /// Parameters that require gradients, and a factor on the learning rate for each.
  virtual void attach(std::vector<NamedTensor> parameters, std::vector<double> lr_scales) = 0;
  /// One update from the parameters' gradients. learning_rate: dimensionless.
  virtual void step(double learning_rate) = 0;
  virtual double base_learning_rate() const = 0;
  virtual TensorMap state() const = 0;
  /// Errors: [checkpoint/optimizer] with all names that are missing, extra or of another size.
  virtual void restore(const TensorMap& state) = 0;
};

/// Learning rate over optimizer steps.
class Schedule {
 public:
  virtual ~Schedule();
  /// step: 0-based optimizer step.
  virtual double learning_rate(int64_t step, double base_learning_rate) const = 0;
};

/// The only code that changes a model for a layout. Every rank calls the same functions in the same
/// order:
///
///   attach; then for each step begin_step, (begin_micro_batch, forward, backward) for each of its
///   micro-batches, finish_backward, scale_gradients, clip_grad_norm, Optimizer::step,
///   after_update.
class ParallelStrategy {
 public:
  virtual ~ParallelStrategy();
  virtual MeshShape mesh() const = 0;
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

/// One number over a set of examples. Kind `metric`.
class Metric {
 public:
  virtual ~Metric();
  virtual void add(const std::string& hypothesis, const std::string& reference) = 0;
  virtual double value() const = 0;
};

/// Receives the numbers of a run. Kind `logger`.
class RunLogger {
 public:
  virtual ~RunLogger();
  virtual void log(int64_t step, const std::map<std::string, double>& values) = 0;
  virtual void flush() = 0;
};

}  // namespace s2s
