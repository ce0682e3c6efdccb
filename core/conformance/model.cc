// Shape letters: B batch.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "answers.h"
#include "s2s/kinds/model_capabilities.h"

namespace s2s::conformance {
namespace {

LossTerms loss_of(Model& model, const Batch& batch) {
  at::manual_seed(1);
  StepContext context;
  context.loss_frames = static_cast<double>(model.weigh(batch).normalizer());
  return model.training_loss(batch, context);
}

void ask_weight(Model& model, const Batch& batch, Questions& questions) {
  const BatchWeight weight = model.weigh(batch);
  questions.ask(weight.normalizer() > 0, "no position of the batch counts in the loss");
  questions.ask(weight.frames <= weight.padded_frames,
                "weigh() counts more positions without padding than with it");
  questions.ask(weight.model_flops >= 0 && weight.encoder_flops >= 0,
                "weigh() counts fewer than no operations");
}

/// False when there is nothing to compute gradients from.
bool ask_losses(const LossTerms& loss, const LossTerms& again, Questions& questions) {
  const bool has_gradient =
      loss.total.defined() && loss.total.numel() == 1 && loss.total.requires_grad();
  questions.ask(has_gradient, "the total loss is not a number with a gradient");
  if (!has_gradient) return false;
  questions.ask(std::isfinite(loss.total.item<double>()), "the total loss is not finite");
  questions.ask(at::equal(loss.total, again.total),
                "the same batch with the same random numbers has another loss");
  for (const auto& [name, part] : loss.parts) {
    questions.ask(!part.requires_grad() && part.numel() == 1,
                  "the loss " + name + " is not a detached number");
  }
  return true;
}

void ask_evaluation(Model& model, const Batch& batch, Questions& questions) {
  const MetricSums sums = model.evaluate(batch);
  const MetricSums again = model.evaluate(batch);
  questions.ask(!sums.empty(), "evaluate() measures nothing");
  questions.ask(sums == again, "evaluate() measures something else the second time");
  const std::vector<std::string> known = model.metric_names();
  for (const auto& [name, value] : model.metrics_of(sums)) {
    questions.ask(known.empty() || std::find(known.begin(), known.end(), name) != known.end(),
                  "metric_names() lacks '" + name + "'");
  }
}

void ask_stages(Model& model, Questions& questions) {
  const std::vector<StagePart> parts = model.stages();
  if (parts.empty()) return;
  for (const NamedTensor& parameter : model.named_parameters()) {
    int64_t count = 0;
    for (const StagePart& part : parts) {
      for (const std::string& block : part.blocks) {
        if (parameter.name == block || parameter.name.starts_with(block + ".")) ++count;
      }
    }
    questions.ask(count == 1, parameter.name + " is in " + std::to_string(count) +
                                  " parts of stages(), not in one");
  }
}

}  // namespace

Answers broken_promises(Model& model, const Batch& batch) {
  Questions questions;
  ask_weight(model, batch, questions);
  model.train(false);
  ask_evaluation(model, batch, questions);
  model.train(true);
  const LossTerms loss = loss_of(model, batch);
  if (ask_losses(loss, loss_of(model, batch), questions)) loss.total.backward();
  for (const NamedTensor& parameter : model.named_parameters()) {
    const at::Tensor& gradient = parameter.tensor->grad();
    questions.ask(!gradient.defined() || gradient.isfinite().all().item<bool>(),
                  parameter.name + " has a gradient that is not finite");
  }
  ask_plan(model, model.configure_model({}), questions);
  ask_names(model, model.checkpoint_names(), questions);
  ask_stages(model, questions);
  model.train(false);
  return questions.take();
}

Answers broken_promises(Model& model) {
  auto* const probes = find_capability<MakesProbeBatches>(model);
  if (probes == nullptr) return {"it makes no probe batches: give a batch to check it with"};
  return broken_promises(model, probes->probe_batch({2, 2.0, 0}));
}

}  // namespace s2s::conformance
