#include <ATen/ATen.h>

#include "eval/compare.h"
#include "s2s/sampling.h"
#include "s2s/weights.h"

namespace s2s {
namespace {

void compare_sequence(const CompareJob& job, Backbone& model, Comparison& comparison) {
  const ReferenceFile& file = job.reference;
  const at::Tensor ids = file.input("ids").to(job.settings.device);
  const auto mask = file.inputs.find("mask");
  SequenceInfo info;
  at::Tensor valid;
  if (mask != file.inputs.end()) {
    info.mask_BT = mask->second.to(job.settings.device);
    valid = mask->second.unsqueeze(-1);
  }
  const at::Tensor hidden = model(model.embed(ids), info);
  const at::Tensor logits = model.logits(hidden);
  comparison.add("output/hidden", hidden, file.output("hidden"), valid);
  comparison.add("output/logits", logits, file.output("logits"), valid);
  if (!file.output("loss").defined()) return;
  const at::Tensor labels = file.input("labels").to(job.settings.device);
  const at::Tensor loss = at::cross_entropy_loss(logits.flatten(0, 1).to(at::kFloat),
                                                 labels.flatten(), {}, at::Reduction::Mean, -100);
  comparison.add("output/loss", loss, file.output("loss"));
  if (file.grads.empty()) return;
  loss.backward();
  compare_grads(model, model.checkpoint_names(), file.grads, comparison);
}

}  // namespace

void compare_llm(const CompareJob& job, Comparison& comparison) {
  const std::unique_ptr<Backbone> model = build_from_reference<Backbone>(job);
  model->materialize(job.settings.device, job.settings.dtype, 0);
  load_weights(*model, model->checkpoint_names(), job.reference.weights, job.reference.path);
  model->train(false);
  if (job.reference.inputs.count("ids") != 0) compare_sequence(job, *model, comparison);
  const at::Tensor expected = job.reference.output("greedy");
  if (!expected.defined()) return;
  const at::Tensor prompt = job.reference.input("prompt").to(job.settings.device);
  Sampler greedy{SamplingOptions()};
  comparison.add("output/greedy", generate_tokens(*model, prompt, expected.size(1), greedy),
                 expected);
}

}  // namespace s2s
