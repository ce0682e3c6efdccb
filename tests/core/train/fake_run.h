#pragma once
// A run without plugins: a model with dropout on random rows, plain gradient descent with momentum.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <string>

#include "common/device.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "s2s/kinds/strategy.h"
#include "s2s/nn/layers.h"
#include "train/trainer.h"

namespace s2s::test {

/// Predicts the mean of a row; its dropout draws from the default generator.
class FakeModel : public Model {
 public:
  explicit FakeModel(int64_t width = 6) : linear_(width, 1), width_(width) {
    register_block("linear", linear_);
  }
  BatchWeight weigh(const Batch& batch) override { return {batch.size(), batch.size() + 2, 1}; }
  LossTerms training_loss(const Batch& batch, const StepContext& context) override {
    const at::Tensor x = at::dropout(batch.source_audio_BS, 0.3, is_training());
    const at::Tensor error = linear_(x) - batch.source_audio_BS.mean(1, true);
    LossTerms terms;
    terms.total = error.square().sum() / context.loss_frames;
    if (poison || context.step == poisoned_step) terms.total = terms.total * std::nan("");
    if (poison_gradients ||
        context.step == poisoned_gradients_step) {  // the loss stays what it was
      terms.total = terms.total + (linear_(x) * 0).square().sum().sqrt();
    }
    terms.parts["text_loss"] = terms.total.detach();
    return terms;
  }
  MetricSums evaluate(const Batch&) override { return {}; }
  ShardPlan configure_model(const MeshShape&) const override { return {}; }
  NameMap checkpoint_names() const override { return {}; }
  int64_t width() const { return width_; }
  bool poison = false;
  bool poison_gradients = false;
  int64_t poisoned_step = -1, poisoned_gradients_step = -1;

 private:
  Linear linear_;
  int64_t width_;
};

/// Rows that depend on the position only.
class FakeData : public DataSource {
 public:
  explicit FakeData(int64_t width = 6, int64_t end = 1000) : width_(width), end_(end) {}
  std::optional<Batch> next() override {
    if (position_ == end_) return std::nullopt;
    Batch batch;
    batch.source_audio_BS =
        (at::arange(3 * width_, at::kFloat).view({3, width_}) * 0.1 + position_).sin();
    batch.ids = {"row" + std::to_string(position_)};
    ++position_;
    return batch;
  }
  std::string state() const override { return std::to_string(position_); }
  void restore(const std::string& state) override {
    position_ = state.empty() ? 0 : std::stoll(state);
  }
  std::vector<std::string> texts() override { return {}; }

 private:
  int64_t width_, end_;
  int64_t position_ = 0;
};

class FakeOptimizer : public Optimizer {
 public:
  void attach(std::vector<NamedTensor> parameters, std::vector<double>) override {
    parameters_ = std::move(parameters);
    for (const NamedTensor& p : parameters_) momentum_[p.name] = at::zeros_like(*p.tensor);
  }
  void step(double learning_rate) override {
    const at::NoGradGuard no_grad;
    for (const NamedTensor& p : parameters_) {
      momentum_[p.name].mul_(0.9).add_(p.tensor->grad());
      p.tensor->sub_(momentum_[p.name] * learning_rate);
    }
  }
  double base_learning_rate() const override { return 0.1; }
  TensorMap state() const override { return momentum_; }
  void restore(const TensorMap& state) override {
    for (const auto& [name, value] : state) momentum_[name].copy_(value);
  }

 protected:
  std::vector<NamedTensor> parameters_;
  TensorMap momentum_;
};

class FakeSchedule : public Schedule {
 public:
  double learning_rate(int64_t step, double base) const override {
    return base / static_cast<double>(step + 1);
  }
};

class FakeStrategy : public ParallelStrategy {
 public:
  MeshShape mesh() const override { return {}; }
  int64_t data_rank() const override { return 0; }
  void attach(Block&, const ShardPlan&) override {}
  void finish_backward(Block&) override {}
  at::Tensor grad_norm(Block& model) override {
    std::vector<at::Tensor> squares;
    for (const NamedTensor& p : model.named_parameters()) {
      if (p.tensor->grad().defined()) squares.push_back(p.tensor->grad().square().sum());
    }
    return at::stack(squares).to(at::kDouble).sum().sqrt();
  }
  at::Tensor reduce_over_data(const at::Tensor& values) override { return values; }
};

/// Takes scales that the host has not read, as AdamW does.
class ScaledOptimizer : public FakeOptimizer {
 public:
  bool step_scaled(double learning_rate, const GradientScale& scale) override {
    const at::NoGradGuard no_grad;
    const at::Tensor made = 1 - scale.found_inf;
    for (const NamedTensor& p : parameters_) {
      at::Tensor gradient = p.tensor->grad();
      if (!gradient.defined()) continue;
      if (scale.divisor.defined()) gradient = gradient / scale.divisor;
      gradient = at::where(made > 0, gradient, at::zeros_like(gradient));
      at::Tensor& momentum = momentum_[p.name];
      momentum.copy_(at::where(made > 0, momentum * 0.9 + gradient, momentum));
      p.tensor->sub_(momentum * made * learning_rate);
    }
    return true;
  }
};

/// The objects of one run, ready to train.
struct FakeRun {
  FakeRun() {
    model.materialize(device(), at::kFloat, 3);
    auto parameters = model.named_parameters();
    optimizer.attach(parameters, std::vector<double>(parameters.size(), 1.0));
  }
  TrainerParts parts() { return {&model, &data, &strategy, &optimizer, &schedule}; }
  FakeModel model;
  FakeData data;
  ScaledOptimizer optimizer;
  FakeSchedule schedule;
  FakeStrategy strategy;
};

/// Keeps every report.
class Recorder : public RunObserver {
 public:
  void on_phase(int64_t step, TrainingPhase) override { step_ = static_cast<size_t>(step); }
  void on_step(const StepReport& report) override {
    steps.push_back(report);
    reported_at.push_back(step_);
  }
  void on_skipped_step(const SkippedStep& step) override { skipped.push_back(step); }
  void on_checkpoint(int64_t steps_done, const std::string&) override {
    checkpoints.push_back(steps_done);
  }
  std::vector<StepReport> steps;
  std::vector<SkippedStep> skipped;
  std::vector<int64_t> checkpoints;
  std::vector<size_t> reported_at;  // the step that ran when each was reported

 private:
  size_t step_ = 0;
};

}  // namespace s2s::test
