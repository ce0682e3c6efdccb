#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "compare/compare.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/scorer.h"
#include "s2s/nn/rows.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

/// The output of this name. Peers give some in several forms ("joint", "joint.log_softmax"): the
/// one that has the expected sizes and is closest.
at::Tensor output_like(const at::Tensor& expected, const std::string& name,
                       const TensorMap& actual) {
  at::Tensor first, closest;
  double smallest = 0;
  for (const auto& [candidate, tensor] : actual) {
    if (candidate != name && !candidate.starts_with(name + ".")) continue;
    if (!first.defined()) first = tensor;
    if (tensor.sizes() != expected.sizes()) continue;
    const at::Tensor difference = tensor.to(at::kCPU, at::kDouble) - expected.to(at::kDouble);
    const double distance = difference.abs().nan_to_num(0, 0, 0).sum().item<double>();
    if (closest.defined() && distance >= smallest) continue;
    closest = tensor;
    smallest = distance;
  }
  return closest.defined() ? closest : first;
}

/// Of outputs with a position for each frame [A, T, ...], those within the audios.
at::Tensor valid_frames(const at::Tensor& expected, const at::Tensor& lengths_A, int64_t frames) {
  if (expected.dim() < 2 || expected.size(1) != frames) return {};
  at::Tensor mask = length_mask(lengths_A.cpu(), frames);
  while (mask.dim() < expected.dim()) mask = mask.unsqueeze(-1);
  return mask;
}

bool is_of_frames(const std::string& name) {
  const auto begins = [&](const char* beginning) { return name.starts_with(beginning); };
  return !begins("id") && !begins("word_") && !begins("scores_") && !begins("hypotheses_") &&
         name != "prediction" && name != "sequences";
}

bool is_optional_of_scorers(const std::string& name) {
  return name == "sequences" || name == "step_durations" || name == "loss_rows";
}

}  // namespace

/// Scorers have no interface for weights: they get those of the file among the inputs.
void compare_scorer(const CompareJob& job, Comparison& comparison) {
  const at::NoGradGuard no_grad;
  const ReferenceFile& file = job.reference;
  const std::unique_ptr<Scorer> scorer = build_from_reference<Scorer>(job);
  auto* const runs = dynamic_cast<RunsReferences*>(scorer.get());
  if (runs == nullptr) throw reference_translation_error(file.path, file.kind, file.name);
  file.input("audio");
  file.input("lengths");
  TensorMap inputs;
  for (const auto& [name, tensor] : file.inputs) inputs[name] = tensor.to(job.settings.device);
  for (const auto& [name, tensor] : file.weights) inputs["weights/" + name] = tensor;
  const TensorMap actual = runs->reference_outputs(inputs, /*training=*/false);
  const auto features = actual.find("features"), lengths = actual.find("lengths");
  for (const auto& [name, expected] : file.outputs) {
    const at::Tensor ours = output_like(expected, name, actual);
    if (!ours.defined() && is_optional_of_scorers(name)) continue;
    at::Tensor valid;
    if (is_of_frames(name) && features != actual.end() && lengths != actual.end()) {
      valid = valid_frames(expected, lengths->second, features->second.size(1));
    }
    comparison.add("output/" + name, ours, expected, valid);
  }
}

}  // namespace s2s
