#pragma once
// The small interfaces of a training run: kinds `optimizer`, `schedule`, `strategy`, `metric`,
// `logger`.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "s2s/block.h"
#include "s2s/plan.h"

namespace s2s {

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

/// The only code that changes a model for a layout.
class ParallelStrategy {
 public:
  virtual ~ParallelStrategy();
  virtual MeshShape mesh() const = 0;
  virtual int64_t data_rank() const = 0;
  virtual void attach(Block& model, const ShardPlan& plan) = 0;
  /// Before the forward of a micro-batch. `is_last`: of the optimizer step, its backward completes
  /// the gradients, and they may be reduced as they come.
  virtual void begin_micro_batch(Block& model, bool is_last);
  /// After the last micro-batch's backward: gradients are complete on return.
  virtual void finish_backward(Block& model) = 0;
  /// Global norm of all gradients, in float32; gradients are scaled when it exceeds max_norm > 0.
  virtual double clip_grad_norm(Block& model, double max_norm) = 0;
  /// Sum over the data ranks, for loss normalisers and metrics.
  virtual double sum_over_data(double value) = 0;
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
