// The default implementations of ParallelStrategy, for strategies that do not shard the model.

#include "s2s/kinds/strategy.h"

#include <ATen/ATen.h>

#include "s2s/error.h"
#include "s2s/kinds/model.h"
#include "s2s/nn/initial_values.h"
#include "s2s/parallel/gradients.h"

namespace s2s {

ParallelStrategy::~ParallelStrategy() = default;
MicroBatchPasses::~MicroBatchPasses() = default;

LocalShard whole_shard(const std::string& name, const at::Tensor& tensor) {
  return {name, tensor.sizes().vec(), {{0, tensor.numel()}}, tensor};
}

void ParallelStrategy::attach_meta(Block& model, const ShardPlan& plan,
                                   const InitialValues& values) {
  values.fill(model.named_parameters());
  attach(model, plan);
}

std::vector<NamedTensor> ParallelStrategy::optimizer_parameters(Block& model) {
  std::vector<NamedTensor> trained;
  for (NamedTensor& parameter : model.named_parameters()) {
    if (parameter.tensor->requires_grad()) trained.push_back(std::move(parameter));
  }
  return trained;
}

/// Every rank has all parts, and one rank saves them.
std::vector<LocalShard> ParallelStrategy::parts(Block& model) {
  std::vector<LocalShard> parts;
  for (const auto& tensors : {model.named_parameters(), model.named_buffers()}) {
    for (const NamedTensor& named : tensors) {
      if (!named.persistent || !named.tensor->defined()) continue;
      parts.push_back(whole_shard(named.name, named.tensor->detach()));
      parts.back().is_owner = data_rank() == 0;
    }
  }
  return parts;
}

void ParallelStrategy::begin_step(Block& model) {
  for (const NamedTensor& parameter : model.named_parameters()) {
    parameter.tensor->mutable_grad().reset();
  }
}

void ParallelStrategy::run_micro_batches(Model& model, const std::vector<Batch>& batches,
                                         MicroBatchPasses& passes) {
  for (size_t i = 0; i < batches.size(); ++i) {
    begin_micro_batch(model, i + 1 == batches.size());
    const at::Tensor loss = passes.forward(
        static_cast<int64_t>(i),
        [&](const StepContext& context) { return model.training_loss(batches[i], context); });
    passes.backward(loss, {});
  }
  finish_backward(model);
}

void ParallelStrategy::begin_micro_batch(Block&, bool) {}

void ParallelStrategy::scale_gradients(Block& model, double factor) {
  std::vector<at::Tensor> gradients = gradients_of(model);
  if (!gradients.empty()) at::_foreach_mul_(gradients, factor);
}

void ParallelStrategy::after_update(Block&) {}

std::vector<double> ParallelStrategy::sum_over_data(const std::vector<double>& values) {
  if (values.empty()) return {};
  const at::Tensor sums = reduce_over_data(at::tensor(values, at::kDouble)).cpu();
  return {sums.const_data_ptr<double>(), sums.const_data_ptr<double>() + sums.numel()};
}

std::vector<std::string> ParallelStrategy::gather_texts(const std::string& text) {
  S2S_ASSERT(mesh().data_size() == 1, "a strategy of several data ranks has a gather_texts");
  return {text};
}

}  // namespace s2s
