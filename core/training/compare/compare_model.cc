// Compares a whole speech model: forward, losses, gradients, weights after optimizer steps, greedy
// tokens. The options of the file are one object: model (NeMo's block, with optimizer and
// lr_scheduler), llm_config, codec, tokens, trainer.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cctype>

#include "compare/compare.h"
#include "nn/lora.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "s2s/nn/weights.h"
#include "train/freeze.h"

namespace s2s {
namespace {

/// Converts "torch.optim.SomeClass" to "some_class". A capital starts a new word only when a
/// lower-case letter follows.
std::string component_name(const std::string& target) {
  const std::string type = target.substr(target.rfind('.') + 1);
  std::string name;
  for (size_t i = 0; i < type.size(); ++i) {
    const auto is_lower = [&](size_t at) {
      return at < type.size() && std::islower(static_cast<unsigned char>(type[at])) != 0;
    };
    if (i > 0 && !is_lower(i) && is_lower(i + 1)) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(type[i])));
  }
  return name;
}

/// Builds the component that the `_target_` of a block names. If the component has no translation,
/// keys that only select an implementation with equal results are dropped.
template <class T>
std::unique_ptr<T> build_target(const CompareJob& job, const Config& block,
                                const std::string& path) {
  const Config* target = block.find("_target_");
  S2S_ASSERT(target != nullptr, "the caller looked");
  const Component<T>& component =
      job.registries.get<T>(component_name(target->text()), *target, path + "._target_");
  Config options = block;
  options.erase("_target_");
  if (component.translate != nullptr) {
    options = component.translate(options);
  } else {
    for (const char* key : {"foreach", "fused", "capturable", "differentiable"}) options.erase(key);
  }
  ContextOf<T> context;
  context.registries = &job.registries;
  context.path = path;
  return component.create(options, context);
}

std::vector<std::string> texts_at(const Config& options, const std::string& path) {
  std::vector<std::string> texts;
  const Config* list = options.find_path(path);
  if (list == nullptr) return texts;
  for (const Config& item : list->items()) texts.push_back(item.as_string(path));
  return texts;
}

/// Adds the adapters of NeMo's model.lora, which are PEFT's.
void add_adapters(Model& model, const CompareJob& job) {
  const Config* const lora = job.reference.options.find_path("model.lora");
  if (lora == nullptr || lora->is_null()) return;
  Block* const adapted = adapted_part(model).root;
  if (adapted == nullptr) throw_no_capability(job.reference.name, "have adapters");
  add_lora(*adapted, read_options<LoraOptions>(*lora, "model.lora"));
}

/// freeze_params and prevent_freeze_params are regular expressions on checkpoint names; a table
/// that is embedding and head at once has the head's. Adapters train, as in NeMo.
void freeze(Model& model, const NameMap& names, const Config& options) {
  std::vector<std::string> prevented = texts_at(options, "model.prevent_freeze_params");
  const Config* const lora = options.find_path("model.lora");
  const bool has_adapters = lora != nullptr && !lora->is_null();
  if (has_adapters) prevented.emplace_back(R"(^.+\.lora_.+$)");
  const FreezeRules rules(texts_at(options, "model.freeze_params"), prevented);
  const ForeignParameters foreign = foreign_parameters(model);
  for (NamedTensor& parameter : model.named_parameters()) {
    const auto tied = foreign.tied.find(parameter.name);
    const std::string name = tied != foreign.tied.end()
                                 ? tied->second
                                 : names.to_theirs(parameter.name).value_or(parameter.name);
    const bool is_fixed = has_adapters && foreign.frozen_by_adapters.count(parameter.name) != 0;
    if (is_fixed || !rules.trains(name)) parameter.tensor->set_requires_grad(false);
  }
}

std::vector<NamedTensor> trained_parameters(Model& model) {
  std::vector<NamedTensor> trained;
  for (NamedTensor& parameter : model.named_parameters()) {
    if (parameter.tensor->requires_grad()) trained.push_back(std::move(parameter));
  }
  return trained;
}

/// Source: torch.nn.utils.clip_grad_norm_.
void clip_gradients(const std::vector<NamedTensor>& parameters, double max_norm) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const NamedTensor& parameter : parameters) {
    if (parameter.tensor->grad().defined()) norms.push_back(parameter.tensor->grad().norm());
  }
  if (norms.empty()) return;
  const double total = at::stack(norms).norm().item<double>();
  const double scale = std::min(1.0, max_norm / (total + 1e-6));
  for (const NamedTensor& parameter : parameters) {
    if (parameter.tensor->grad().defined()) parameter.tensor->mutable_grad().mul_(scale);
  }
}

/// The losses of the first optimizer steps [N], each before its update.
constexpr const char* kLosses = "losses";

/// True when the model's options exclude norms and biases from weight decay.
bool excludes_norms(const CompareJob& job) {
  const ReferenceFile& file = job.reference;
  const Component<Model>& component = job.registries.get<Model>(file.name, file.options, file.path);
  const Config options = component.translate(file.options);
  const Config* excluded = options.find("exclude_norm_from_wd");
  return excluded != nullptr && excluded->as_bool("model.exclude_norm_from_wd");
}

/// Runs optimizer steps on the single batch of the file, and compares the weights after the steps
/// that the file lists, and the losses of the steps.
class Steps {
 public:
  Steps(const CompareJob& job, Model& model, RunsReferences& runs, const TensorMap& inputs)
      : job_(job),
        model_(model),
        runs_(runs),
        inputs_(inputs),
        trained_(trained_parameters(model)) {
    const Config& options = job.reference.options;
    Config block = *options.find_path("model.optimizer");
    if (excludes_norms(job)) block["exclude_norm_from_wd"] = Config::scalar("true");
    optimizer_ = build_target<Optimizer>(job, block, "model.optimizer");
    optimizer_->attach(trained_, std::vector<double>(trained_.size(), 1.0));
    const Config* schedule = options.find_path("model.lr_scheduler");
    if (schedule != nullptr && !schedule->is_null()) {
      schedule_ = build_target<Schedule>(job, *schedule, "model.lr_scheduler");
    }
    const Config* clip = options.find_path("trainer.gradient_clip_val");
    if (clip != nullptr && !clip->is_null()) max_norm_ = clip->as_double("gradient_clip_val");
  }

  /// The first step uses the existing gradients, of `loss`.
  void run(const at::Tensor& loss, Comparison& comparison) {
    losses_ = {loss.detach()};
    int64_t done = 0;
    for (const auto& [steps, expected] : job_.reference.after) {
      for (; done < steps; ++done) step(done);
      const TensorMap ours = export_weights(model_, model_.checkpoint_names());
      for (const auto& [name, tensor] : expected) {
        const auto it = ours.find(name);
        comparison.add("after/" + std::to_string(steps) + "/" + name,
                       it == ours.end() ? at::Tensor() : it->second, tensor);
      }
    }
    const at::Tensor expected = job_.reference.output(kLosses);
    if (!expected.defined()) return;
    for (; done < expected.numel(); ++done) step(done);
    const auto count = std::min(losses_.size(), static_cast<size_t>(expected.numel()));
    comparison.add(std::string("output/") + kLosses,
                   at::stack(at::TensorList(losses_.data(), count)), expected);
  }

 private:
  void step(int64_t done) {
    if (done > 0) {
      for (const NamedTensor& parameter : trained_) parameter.tensor->mutable_grad().reset();
      const at::Tensor loss = runs_.reference_outputs(inputs_, true).at("loss");
      losses_.push_back(loss.detach());
      loss.backward();
    }
    if (max_norm_ > 0) clip_gradients(trained_, max_norm_);
    const double base = optimizer_->base_learning_rate();
    optimizer_->step(schedule_ ? schedule_->learning_rate(done, base) : base);
  }

  const CompareJob& job_;
  Model& model_;
  RunsReferences& runs_;
  const TensorMap& inputs_;
  std::vector<NamedTensor> trained_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Schedule> schedule_;
  double max_norm_ = 0;
  std::vector<at::Tensor> losses_;
};

/// Positions [B, T, 1] of a tensor [B, T, N] that are no padding, where the model's outputs say so.
at::Tensor unpadded(const TensorMap& outputs, const at::Tensor& like) {
  const auto mask = outputs.find("attention_mask");
  if (mask == outputs.end() || like.dim() != 3) return {};
  const bool fits = mask->second.sizes() == like.sizes().slice(0, 2);
  return fits ? mask->second.unsqueeze(-1) : at::Tensor();
}

void add_outputs(const CompareJob& job, const TensorMap& actual,
                 const std::vector<std::string>& names, Comparison& comparison) {
  for (const std::string& name : names) {
    const auto it = actual.find(name);
    const at::Tensor expected = job.reference.output(name);
    comparison.add("output/" + name, it == actual.end() ? at::Tensor() : it->second, expected,
                   unpadded(actual, expected));
  }
}

}  // namespace

void compare_model(const CompareJob& job, Comparison& comparison) {
  const ReferenceFile& file = job.reference;
  const std::unique_ptr<Model> model = build_from_reference<Model>(job);
  add_adapters(*model, job);
  model->materialize(job.settings.device, job.settings.dtype, 0);
  const NameMap names = model->checkpoint_names();
  load_weights(*model, names, file.weights, file.path);
  freeze(*model, names, file.options);
  TensorMap inputs;
  for (const auto& [name, tensor] : file.inputs) inputs[name] = tensor.to(job.settings.device);

  auto& runs = require_capability<RunsReferences>(*model, file.name, "run on a reference file");
  std::vector<std::string> decoded, trained;
  const std::vector<std::string> of_decoding = runs.decoded_outputs();
  for (const auto& [name, tensor] : file.outputs) {
    if (name == kLosses) continue;  // of all steps
    const bool is_decoded =
        std::find(of_decoding.begin(), of_decoding.end(), name) != of_decoding.end();
    (is_decoded ? decoded : trained).push_back(name);
  }
  // Decode first: a training step changes the statistics of batch normalization.
  if (!decoded.empty()) {
    const at::NoGradGuard no_grad;
    model->train(false);
    add_outputs(job, runs.reference_outputs(inputs, false), decoded, comparison);
  }
  const bool has_steps = !file.after.empty() || file.output(kLosses).defined();
  if (trained.empty() && file.grads.empty() && !has_steps) return;  // of a model for inference
  model->train(true);
  const TensorMap outputs = runs.reference_outputs(inputs, true);
  add_outputs(job, outputs, trained, comparison);
  if (file.grads.empty() && !has_steps) return;
  const at::Tensor loss = outputs.at("loss");
  loss.backward();
  compare_grads(*model, names, file.grads, comparison);
  if (has_steps) Steps(job, *model, runs, inputs).run(loss, comparison);
}

}  // namespace s2s
