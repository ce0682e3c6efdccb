#include "answers.h"

#include <ATen/ATen.h>

#include <set>

#include "plan/plan_check.h"

namespace s2s::conformance {

bool close(const at::Tensor& actual, const at::Tensor& expected, double tolerance) {
  if (actual.sizes() != expected.sizes()) return false;
  if (expected.numel() == 0) return true;
  const double largest = expected.abs().max().item<double>();
  return (actual - expected).abs().max().item<double>() <= tolerance * std::max(largest, 1e-3);
}

void ask_gradients(Block& block, Questions& questions) {
  for (const NamedTensor& parameter : block.named_parameters()) {
    if (!parameter.tensor->requires_grad()) continue;
    const at::Tensor& gradient = parameter.tensor->grad();
    questions.ask(gradient.defined(), "the backward pass gives no gradient for " + parameter.name);
    if (!gradient.defined()) continue;
    questions.ask(at::isfinite(gradient).all().item<bool>(),
                  "the gradient of " + parameter.name + " is not finite");
  }
}

void ask_plan(Block& block, const ShardPlan& plan, Questions& questions) {
  const Findings findings = check_plan(block, plan, {});
  for (const Error& error : findings.errors()) questions.ask(false, error.what());
}

void ask_plans(Backbone& model, Questions& questions) {
  std::set<std::string> said;
  for (const auto& [shard, tensor] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 2}, {1, 4}}) {
    PlanCheckInputs inputs;
    inputs.mesh.shard = shard;
    inputs.mesh.tensor = tensor;
    const Findings findings = check_plan(model, model.configure_model(inputs.mesh), inputs);
    for (const Error& error : findings.errors()) {
      if (error.id() == "plan/indivisible" || !said.insert(error.what()).second) continue;
      questions.ask(false, error.what());
    }
  }
}

void ask_names(Block& block, const NameMap& names, Questions& questions) {
  std::vector<NamedTensor> tensors = block.named_parameters();
  for (NamedTensor& buffer : block.named_buffers()) {
    if (buffer.persistent) tensors.push_back(std::move(buffer));
  }
  std::set<std::string> seen;
  for (const NamedTensor& tensor : tensors) {
    const auto theirs = names.to_theirs(tensor.name);
    questions.ask(theirs.has_value(), tensor.name + " has no name in checkpoints");
    if (!theirs) continue;
    questions.ask(seen.insert(*theirs).second,
                  "two tensors have the name " + *theirs + " in checkpoints");
    questions.ask(names.to_ours(*theirs) == tensor.name,
                  *theirs + " does not map back to " + tensor.name);
  }
}

}  // namespace s2s::conformance
