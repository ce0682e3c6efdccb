#include "s2s_run/bench/llm_training.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <charconv>
#include <filesystem>

#include "config/config_errors.h"
#include "hf/hf.h"
#include "nn/operators.h"
#include "s2s/nn/initial_values.h"
#include "s2s/nn/losses.h"
#include "train/gradient_update.h"

namespace s2s::run {
namespace {

struct LlmPreset {
  const char* name;
  const char* component;
  const char* preset;  // of the component
};
constexpr LlmPreset kLlmPresets[] = {{"tiny", "tinyllama", "tiny"},
                                     {"1.1b", "tinyllama", "tinyllama_1.1b"},
                                     {"8b", "llama", "llama_3_8b"}};

constexpr const char* kEvery = "every:";

/// The n of every:n; 0 when `text` is none.
int64_t every_of(const std::string& text) {
  if (!text.starts_with(kEvery)) return 0;
  const char* const end = text.data() + text.size();
  int64_t every = 0;
  const auto [stop, error] = std::from_chars(text.data() + std::string(kEvery).size(), end, every);
  return error == std::errc() && stop == end ? every : 0;
}

/// The options of model.llm.
Config llm_node(const std::string& model, const PluginHost& host) {
  Config config = Config::map();
  Config& llm = config["model"]["llm"];
  for (const LlmPreset& preset : kLlmPresets) {
    if (model != preset.name) continue;
    llm["name"] = Config::scalar(preset.component);
    llm["preset"] = Config::scalar(preset.preset);
    return llm;
  }
  llm["path"] = Config::scalar(model, /*quoted=*/true);
  std::vector<std::string> families;
  for (const auto& [id, file] : host.scan().owners) {
    if (id.kind == "llm") families.push_back(id.name);
  }
  Findings findings;
  ConfigNotes notes;
  interop::name_language_model(config, families, findings, notes);
  findings.throw_if_any();
  return config["model"]["llm"];
}

/// One process. Recomputation is the engine's.
Config llm_strategy_node(const std::string& recompute) {
  Config node = Config::map();
  node["name"] = Config::scalar(recompute == "none" ? "single" : "ddp");
  if (recompute == "none") return node;
  const int64_t every = every_of(recompute);
  node["activation_checkpointing"] = Config::scalar(every > 0 ? "full" : recompute);
  if (every > 0) node["activation_checkpointing_every"] = Config::scalar(std::to_string(every));
  return node;
}

Config llm_optimizer_node() {
  Config node = Config::map();
  node["name"] = Config::scalar("adamw");
  node["lr"] = Config::scalar(std::to_string(LlmOptimizer::kLearningRate));
  node["betas"] = Config::list({Config::scalar(std::to_string(LlmOptimizer::kBeta1)),
                                Config::scalar(std::to_string(LlmOptimizer::kBeta2))});
  node["weight_decay"] = Config::scalar("0");
  return node;
}

/// Draws the values on the parameters' own device. Its generator gives other numbers than the
/// CPU's, and a 70 billion parameter model has its values in a second.
void draw_on_device(Block& model) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& parameter : model.named_parameters()) {
    at::Tensor& values = *parameter.tensor;
    switch (parameter.init.kind) {
      case Init::Kind::kZeros:
        values.zero_();
        break;
      case Init::Kind::kOnes:
        values.fill_(1);
        break;
      case Init::Kind::kNormal:
        values.normal_(0, parameter.init.scale);
        break;
      case Init::Kind::kUniform:
        values.uniform_(-parameter.init.scale, parameter.init.scale);
        break;
    }
  }
}

}  // namespace

std::string llm_preset_problem(const std::string& value) {
  for (const LlmPreset& preset : kLlmPresets) {
    if (value == preset.name) return "";
  }
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::path(value) / "config.json", ignored)) return "";
  return "'" + value + "'; expected tiny, 1.1b, 8b or a Hugging Face folder with a config.json";
}

std::string llm_recompute_problem(const std::string& value) {
  if (value == "none" || value == "full" || value == "norm_and_mlp" || every_of(value) > 0) {
    return "";
  }
  return "'" + value + "'; expected none, full, every:N or norm_and_mlp";
}

LlmTraining::LlmTraining(const BenchLlmArguments& arguments, const PluginHost& host,
                         const Registries& registries, at::Device device)
    : clip_(arguments.clip),
      device_(device),
      precision_(parse_precision(arguments.precision, "--precision")) {
  ProcessContext context;
  context.registries = &registries;
  context.path = "--device";
  kernels_ = make_device_kernels(device.type(), context);
  context.path = "model.llm";
  model_ = registries.create<Backbone>(llm_node(arguments.preset, host), context);
  context.path = "trainer.strategy";
  strategy_ = registries.create<ParallelStrategy>(llm_strategy_node(arguments.recompute), context);
  context.path = "model.optimizer";
  optimizer_ = registries.create<Optimizer>(llm_optimizer_node(), context);
  using From = InitialValuesSettings::From;
  const bool is_fast = arguments.init == "fast";
  const InitialValues values(*model_, {device, precision_.parameter_type, /*seed=*/1,
                                       is_fast ? From::kNowhere : From::kFiles});
  strategy_->attach_meta(*model_, model_->configure_model(strategy_->mesh()), values);
  at::manual_seed(100);
  if (is_fast) {
    draw_on_device(*model_);
    strategy_->after_update(*model_);
  }
  std::vector<NamedTensor> parameters = strategy_->optimizer_parameters(*model_);
  const size_t count = parameters.size();
  optimizer_->attach(std::move(parameters), std::vector<double>(count, 1.0));
  const at::Tensor tokens = at::randint(model_->shape().vocab_size,
                                        {arguments.batch_size, arguments.positions + 1}, at::kLong);
  ids_BT_ = tokens.slice(1, 0, arguments.positions).contiguous().to(device);
  labels_BT_ = tokens.slice(1, 1).contiguous().to(device);
  model_->train(true);
}

int64_t LlmTraining::num_parameters() {
  int64_t count = 0;
  for (const NamedTensor& p : model_->named_parameters()) {
    count += c10::multiply_integers(p.sizes);
  }
  return count;
}

at::Tensor LlmTraining::forward_backward() {
  strategy_->begin_step(*model_);
  strategy_->begin_micro_batch(*model_, /*is_last=*/true);
  at::Tensor loss;
  {
    const AutocastScope autocast(precision_, device_.type());
    const at::Tensor hidden_BTH = (*model_)(model_->embed(ids_BT_), SequenceInfo());
    loss =
        linear_cross_entropy(hidden_BTH.flatten(0, 1), model_->head(), labels_BT_.view({-1, 1})) /
        static_cast<double>(labels_BT_.numel());
  }
  loss.backward();
  strategy_->finish_backward(*model_);
  return loss.detach();
}

double LlmTraining::gradient_norm() { return strategy_->grad_norm(*model_).item<double>(); }

void LlmTraining::update() {
  if (clip_ > 0) {
    GradientUpdate(*model_, *strategy_, *optimizer_, clip_).run(LlmOptimizer::kLearningRate);
    return;
  }
  optimizer_->step(LlmOptimizer::kLearningRate);
  strategy_->after_update(*model_);
}

at::Tensor LlmTraining::step() {
  at::Tensor loss = forward_backward();
  update();
  return loss;
}

}  // namespace s2s::run
