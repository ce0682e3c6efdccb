#pragma once
// Trains a model under a layout for a few steps, and says what came of it.

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../plugins/built_plugins.h"
#include "parallel/token_model.h"
#include "s2s/kinds/communicator.h"
#include "s2s/nn/weights.h"
#include "train/whole_updates.h"

namespace s2s::test {

/// How a model is made and what it is trained on; the same on every rank.
struct TrainedModel {
  std::string name;
  std::function<std::unique_ptr<Model>(const Registries&)> make;  // with memory and values
  std::function<void(Model&, ShardPlan&)> change = {};            // adapters, frozen parts
  std::vector<Batch> batches;
  std::function<void(Communicator*, Model&, const ShardPlan&)> attached = {};
  std::function<void(Communicator*)> at_end = {};  // everything is still there
  double tolerances = 1;  // of kEqualityTolerance, for models that magnify rounding
  std::function<void(Model&)> validate = {};  // after every second step
  RunObserver* observer = nullptr;            // of the only rank of this process
  double max_grad_norm = 1;
  std::string optimizer =
      R"({"name": "adamw", "lr": 1e-3, "weight_decay": 0.01, "eps": 1e-4})";  // JSON
};

/// A strategy and its ranks.
struct RunLayout {
  std::string name;
  std::string strategy;  // its config node, JSON
  int64_t num_ranks = 1;
  int64_t data_ranks = 1;
  int64_t accumulate = 1;
  std::string precision = "32-true";
  int64_t global_batches() const { return data_ranks * accumulate; }
};

/// What training came to: whole parameters, and a number of each step.
struct LayoutResult {
  TensorMap parameters;
  std::vector<double> losses, grad_norms;
  std::vector<int64_t> device_peaks;  // bytes; 0 on a CPU
};

constexpr int64_t kLayoutSteps = 10;

/// Stands where a rank has no number.
constexpr float kNotHere = -12345.5F;

/// Adds a rank's elements to the whole tensors. Several ranks may do so at once.
inline void add_parts(const std::vector<LocalShard>& parts, TensorMap& whole) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  for (const LocalShard& part : parts) {
    at::Tensor& tensor = whole[part.name];
    if (!tensor.defined()) tensor = at::full(part.sizes, kNotHere);
    const at::Tensor flat = tensor.view({-1});
    const at::Tensor elements = part.tensor.reshape({-1}).to(at::kFloat);
    int64_t at_element = 0;
    for (const TensorSpan& span : part.spans) {
      flat.narrow(0, span.begin, span.count).copy_(elements.narrow(0, at_element, span.count));
      at_element += span.count;
    }
  }
}

/// Without buffers.
inline std::vector<LocalShard> parameters_of(std::vector<LocalShard> parts, Block& model) {
  std::set<std::string> names;
  for (const NamedTensor& parameter : model.named_parameters()) names.insert(parameter.name);
  std::erase_if(parts, [&](const LocalShard& part) { return !names.contains(part.name); });
  return parts;
}

/// One rank of a layout. world: null for one process. only_first: ranks share `result`, and the
/// first one writes what is the same on all.
inline void run_layout(const Registries& registries, const TrainedModel& trained,
                       const RunLayout& layout, Communicator* world, LayoutResult& result,
                       bool only_first = true) {
  ProcessContext context;
  context.world = world;
  context.path = "trainer.strategy";
  const std::unique_ptr<Model> model = trained.make(registries);
  const auto strategy =
      registries.create<ParallelStrategy>(parse_json(layout.strategy, "strategy"), context);
  const auto optimizer =
      registries.create<Optimizer>(parse_json(trained.optimizer, "optimizer"), context);
  ShardPlan plan = model->configure_model(strategy->mesh());
  if (trained.change) trained.change(*model, plan);
  strategy->attach(*model, plan);
  if (trained.attached) trained.attached(world, *model, plan);
  const std::vector<NamedTensor> shards = parameters_to_attach(*optimizer, *strategy, *model);
  optimizer->attach(shards, std::vector<double>(shards.size(), 1.0));
  DealtBatches data(trained.batches, strategy->data_rank(), strategy->mesh().data_size());
  FakeSchedule schedule;
  TrainerSettings settings;
  settings.max_steps = kLayoutSteps;
  settings.accumulate = layout.accumulate;
  settings.max_grad_norm = trained.max_grad_norm;
  settings.precision = parse_precision(layout.precision, "trainer.precision");
  settings.device = model->named_parameters().front().tensor->device();
  settings.validate_every = trained.validate ? 2 : 0;
  Trainer trainer(settings, {model.get(), &data, strategy.get(), optimizer.get(), &schedule});
  Recorder recorder;
  trainer.add_observer(&recorder);
  if (trained.observer != nullptr) trainer.add_observer(trained.observer);
  trainer.validate = [&](int64_t) {
    trained.validate(*model);
    return ValidationReport();
  };
  trainer.run(0);
  if (trained.at_end) trained.at_end(world);
  add_parts(parameters_of(strategy->parts(*model), *model), result.parameters);
  if (only_first && world != nullptr && world->rank() > 0) return;
  for (const StepReport& step : recorder.steps) {
    result.losses.push_back(step.loss);
    result.grad_norms.push_back(step.grad_norm);
    result.device_peaks.push_back(step.device_memory.peak_bytes);
  }
}

/// The largest difference of anything that b has, relative to a's largest value of the tensor; NaN
/// counts as 1.
inline double largest_difference(const LayoutResult& a, const LayoutResult& b) {
  double largest = a.parameters.size() == b.parameters.size() ? 0 : 1;
  const auto take = [&](double difference) {
    largest = difference <= largest ? largest : std::isnan(difference) ? 1 : difference;
  };
  for (const auto& [name, value] : a.parameters) {
    const auto other = b.parameters.find(name);
    if (other == b.parameters.end() || other->second.sizes() != value.sizes()) return 1;
    const at::Tensor wide = value.to(at::kDouble);
    const double scale = wide.abs().max().item<double>() + 1e-12;
    const at::Tensor is_here = other->second.ne(kNotHere);
    take(((wide - other->second) * is_here).abs().max().item<double>() / scale);
  }
  const auto relative = [](double x, double y) {
    const bool are_same = x == y || (std::isnan(x) && std::isnan(y));  // of a skipped update
    return are_same ? 0 : std::abs(x / y - 1);
  };
  for (size_t i = 0; i < a.losses.size(); ++i) {
    take(relative(a.losses[i], b.losses.at(i)));
    take(relative(a.grad_norms[i], b.grad_norms.at(i)));
  }
  return largest;
}

}  // namespace s2s::test
