#pragma once
// Training a small model whose parts are not used by every batch, on ranks that replicate it.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <vector>

#include "../core/train/fake_run.h"
#include "../plugins/built_plugins.h"
#include "s2s/kinds/communicator.h"

namespace s2s::test {

/// Of five layers: one is never used, one by every third batch, one by the first two ranks' rows
/// only, one is frozen.
class PartlyUsedModel : public FakeModel {
 public:
  PartlyUsedModel() {
    register_block("up", up_);
    register_block("down", down_);
    register_block("sometimes", sometimes_);
    register_block("frozen", frozen_);
  }
  LossTerms training_loss(const Batch& batch, const StepContext& context) override {
    const at::Tensor& x = batch.source_audio_BS;
    at::Tensor y = down_(at::tanh(up_(x + frozen_(x))));
    const int64_t position = std::stoll(batch.ids[0].substr(3));
    if (position % 3 == 0) y = y + sometimes_(x);
    LossTerms terms;
    terms.total = (y - x.mean(1, true)).square().sum() / context.loss_frames;
    return terms;
  }

 private:
  Linear up_{6, 33}, down_{33, 1}, sometimes_{6, 1}, frozen_{6, 6};
};

/// Every `size`-th batch, from the `rank`-th on.
class DealtData : public FakeData {
 public:
  DealtData(int64_t rank, int64_t size) : size_(size) {
    for (int64_t i = 0; i < rank; ++i) FakeData::next();
  }
  std::optional<Batch> next() override {
    std::optional<Batch> batch = FakeData::next();
    for (int64_t i = 1; i < size_; ++i) FakeData::next();
    return batch;
  }

 private:
  int64_t size_;
};

/// What training came to.
struct TrainedRun {
  TensorMap parameters;
  std::vector<double> grad_norms;
};

/// Ten optimizer steps of `accumulate` batches on each of the ranks of `world`.
/// `plugins`: has loaded the strategy and the optimizer.
inline TrainedRun train_replicated(const Registries& registries, const std::string& strategy_name,
                                   Communicator* world, int64_t accumulate,
                                   const Config& strategy_options = Config::map()) {
  const int64_t rank = world == nullptr ? 0 : world->rank();
  const int64_t size = world == nullptr ? 1 : world->size();
  PartlyUsedModel model;
  model.materialize(at::kCPU, at::kFloat, static_cast<uint64_t>(3 + rank));  // rank 0's count
  model.find_block("frozen")->set_requires_grad(false);
  ProcessContext context;
  context.world = world;
  const auto strategy =
      registries.of<ParallelStrategy>().find(strategy_name)->create(strategy_options, context);
  const auto optimizer = registries.of<Optimizer>().find("adamw")->create(Config::map(), context);
  strategy->attach(model, {});
  const std::vector<NamedTensor> trainable = strategy->optimizer_parameters(model);
  optimizer->attach(trainable, std::vector<double>(trainable.size(), 1.0));
  DealtData data(rank, size);
  FakeSchedule schedule;
  TrainerSettings settings;
  settings.max_steps = 10;
  settings.accumulate = accumulate;
  settings.max_grad_norm = 0.05;
  Trainer trainer(settings, {&model, &data, strategy.get(), optimizer.get(), &schedule});
  Recorder recorder;
  trainer.add_observer(&recorder);
  trainer.run(0);
  TrainedRun out;
  for (const NamedTensor& parameter : model.named_parameters()) {
    out.parameters[parameter.name] = parameter.tensor->detach().clone();
  }
  for (const StepReport& step : recorder.steps) out.grad_norms.push_back(step.grad_norm);
  return out;
}

/// The largest difference of parameters and gradient norms, relative to the largest value.
inline double largest_difference(const TrainedRun& a, const TrainedRun& b) {
  double largest = 0;
  for (const auto& [name, value] : a.parameters) {
    const double scale = value.abs().max().item<double>() + 1e-12;
    const double difference = (value - b.parameters.at(name)).abs().max().item<double>();
    largest = std::max(largest, difference / scale);
  }
  for (size_t i = 0; i < a.grad_norms.size(); ++i) {
    largest = std::max(largest, std::abs(a.grad_norms[i] / b.grad_norms[i] - 1));
  }
  return largest;
}

}  // namespace s2s::test
