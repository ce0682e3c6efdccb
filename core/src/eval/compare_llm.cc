#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "eval/compare.h"
#include "s2s/weights.h"

namespace s2s {
namespace {

/// `count` new tokens after the prompt [1, P], each the likeliest -> [1, count].
at::Tensor greedy(Backbone& model, const at::Tensor& prompt, int64_t count) {
  const at::NoGradGuard no_grad;
  KvCache cache(model.shape().num_layers);
  SequenceInfo info;
  info.cache = &cache;
  std::vector<at::Tensor> tokens;
  at::Tensor next = prompt;
  for (int64_t i = 0; i < count; ++i) {
    const at::Tensor hidden = model(model.embed(next), info);
    const at::Tensor last = hidden.narrow(1, hidden.size(1) - 1, 1);
    next = model.logits(last).argmax(-1);
    tokens.push_back(next);
  }
  return at::cat(tokens, 1);
}

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
  comparison.add("output/greedy", greedy(*model, prompt, expected.size(1)), expected);
}

}  // namespace s2s
