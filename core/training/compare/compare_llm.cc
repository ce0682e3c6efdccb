#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <cmath>

#include "compare/compare.h"
#include "s2s/nn/token_sampling.h"
#include "s2s/nn/weights.h"
#include "weights/shape_text.h"

namespace s2s {
namespace {

/// The mask of the file with a trailing dim of size 1, or undefined when there is no padding.
at::Tensor real_positions(const ReferenceFile& file) {
  const auto mask = file.inputs.find("mask");
  return mask == file.inputs.end() ? at::Tensor() : mask->second.unsqueeze(-1);
}

/// Runs the model on the ids of the file and returns its outputs. If the file has a loss, also
/// computes it from the labels and runs backward, so that the parameters have gradients.
TensorMap run_sequence(const CompareJob& job, Backbone& model) {
  const ReferenceFile& file = job.reference;
  SequenceInfo info;
  const at::Tensor real = real_positions(file);
  if (real.defined()) info.mask_BT = real.squeeze(-1).to(job.settings.device);
  const at::Tensor hidden = model(model.embed(file.input("ids").to(job.settings.device)), info);
  const at::Tensor logits = model.logits(hidden);
  TensorMap outputs = {{"hidden", hidden}, {"logits", logits}};
  if (!file.output("loss").defined()) return outputs;
  const at::Tensor labels = file.input("labels").to(job.settings.device);
  outputs["loss"] = at::cross_entropy_loss(logits.flatten(0, 1).to(at::kFloat), labels.flatten(),
                                           {}, at::Reduction::Mean, -100);
  if (!file.grads.empty()) outputs["loss"].backward();
  return outputs;
}

void compare_sequence(const CompareJob& job, Backbone& model, Comparison& comparison) {
  const ReferenceFile& file = job.reference;
  const at::Tensor real = real_positions(file);
  for (const auto& [name, tensor] : run_sequence(job, model)) {
    comparison.add("output/" + name, tensor, file.output(name),
                   name == "loss" ? at::Tensor() : real);
  }
  if (!file.grads.empty()) compare_grads(model, model.checkpoint_names(), file.grads, comparison);
}

std::unique_ptr<Backbone> build_with_memory(const CompareJob& job, at::ScalarType dtype) {
  std::unique_ptr<Backbone> model = build_from_reference<Backbone>(job);
  model->materialize(job.settings.device, dtype, 0);
  model->train(false);
  return model;
}

void load(const CompareJob& job, Backbone& model, const TensorMap& weights) {
  load_weights(model, model.checkpoint_names(), weights, job.reference.path);
}

/// Returns the weights of the file with the random change of draw `seed`.
TensorMap nudged(const TensorMap& weights, double nudge, int64_t seed) {
  auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed));
  TensorMap changed;
  for (const auto& [name, tensor] : weights) {
    changed[name] = tensor * (1 + nudge * at::randn(tensor.sizes(), generator, tensor.options()));
  }
  return changed;
}

/// Returns outputs and gradients under the names of the file, in float64 on the CPU. Padding is 0.
TensorMap run_on(const CompareJob& job, Backbone& model, const TensorMap& weights) {
  load(job, model, weights);
  for (const NamedTensor& parameter : model.named_parameters()) {
    parameter.tensor->mutable_grad() = at::Tensor();
  }
  const at::Tensor real = real_positions(job.reference);
  TensorMap found;
  for (const auto& [name, tensor] : run_sequence(job, model)) {
    at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble);
    if (real.defined() && values.dim() == 3) values = values.masked_fill(real.logical_not(), 0);
    found["output/" + name] = values;
  }
  for (const auto& [name, grad] :
       named_grads(model, model.checkpoint_names(), job.reference.grads)) {
    found["grad/" + name] = grad.to(at::kCPU, at::kDouble);
  }
  return found;
}

/// Compares our bfloat16 error (relative to our float32) with the bfloat16 error of the source.
void compare_rounding(const CompareJob& job, Comparison& comparison) {
  const RoundingReference& source = *job.reference.bfloat16;
  const auto wide = build_with_memory(job, at::kFloat);
  const auto half = build_with_memory(job, at::kBFloat16);
  TensorMap squares;
  for (int64_t draw = 1; draw <= source.draws; ++draw) {
    const TensorMap weights = nudged(job.reference.weights, source.nudge, draw);
    const TensorMap exact = run_on(job, *wide, weights);
    for (const auto& [name, value] : run_on(job, *half, weights)) {
      const at::Tensor square = (value - exact.at(name)).square();
      squares[name] = squares.count(name) == 0 ? square : squares[name] + square;
    }
  }
  const at::Tensor real = real_positions(job.reference);
  double ratios = 0;
  for (const auto& [name, error] : source.errors) {
    const auto found = squares.find(name);
    if (found == squares.end()) {
      comparison.add(name, {}, at::zeros({}));
      continue;
    }
    const at::Tensor& sum = found->second;
    const bool is_padded = real.defined() && sum.dim() == 3 && name.starts_with("output/");
    const double numbers = is_padded ? static_cast<double>(real.sum().item<int64_t>()) *
                                           static_cast<double>(sum.size(2))
                                     : static_cast<double>(sum.numel());
    const double ours =
        std::sqrt(sum.sum().item<double>() / numbers / static_cast<double>(source.draws));
    // Both errors are estimates from this many numbers: two standard deviations of their ratio.
    const double spread = 2 / std::sqrt(numbers * static_cast<double>(source.draws));
    comparison.add_rounding(name, sum, ours, error, kRoundingOfTensor * (1 + spread));
    ratios += ours / error * (ours / error);
  }
  const auto num_tensors = static_cast<double>(source.errors.size());
  comparison.add_rounding("all tensors", at::zeros({}), std::sqrt(ratios / num_tensors), 1,
                          kRoundingOfFile);
}

}  // namespace

void compare_llm(const CompareJob& job, Comparison& comparison) {
  if (job.settings.dtype == at::kBFloat16 && job.reference.bfloat16) {
    compare_rounding(job, comparison);
    return;
  }
  const std::unique_ptr<Backbone> model = build_with_memory(job, job.settings.dtype);
  load(job, *model, job.reference.weights);
  if (job.reference.inputs.count("ids") != 0) compare_sequence(job, *model, comparison);
  const at::Tensor expected = job.reference.output("greedy");
  if (!expected.defined()) return;
  const at::Tensor prompt = job.reference.input("prompt").to(job.settings.device);
  Sampler greedy{SamplingOptions()};
  comparison.add("output/greedy", generate_tokens(*model, prompt, expected.size(1), greedy),
                 expected);
}

}  // namespace s2s
