#include "benchmark/commands/llm_training.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <charconv>
#include <filesystem>

#include "base/machine.h"
#include "config/config_errors.h"
#include "hf/hf.h"
#include "nn/operators.h"
#include "s2s/nn/initial_values.h"
#include "s2s/nn/losses.h"
#include "s2s_run/bench/command_ranks.h"
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
  for (const LlmPreset& preset : kLlmPresets) {
    if (model != preset.name) continue;
    return node_of({{"name", preset.component}, {"preset", preset.preset}});
  }
  Config config = Config::map();
  config["model"]["llm"]["path"] = Config::scalar(model, /*quoted=*/true);
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
  if (recompute == "none") return node_of({{"name", "single"}});
  const int64_t every = every_of(recompute);
  Config node =
      node_of({{"name", "ddp"}, {"activation_checkpointing", every > 0 ? "full" : recompute}});
  if (every > 0) node["activation_checkpointing_every"] = Config::scalar(std::to_string(every));
  return node;
}

Config llm_optimizer_node() {
  Config node = node_of({{"name", "adamw"},
                         {"lr", std::to_string(LlmOptimizer::kLearningRate)},
                         {"weight_decay", "0"}});
  node["betas"] = Config::list({Config::scalar(std::to_string(LlmOptimizer::kBeta1)),
                                Config::scalar(std::to_string(LlmOptimizer::kBeta2))});
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

LlmSetup llm_setup(const BenchLlmArguments& arguments, const PluginHost& host, at::Device device) {
  return {llm_node(arguments.preset, host),
          llm_strategy_node(arguments.recompute),
          arguments.batch_size,
          arguments.positions,
          device,
          parse_precision(arguments.precision, "--precision"),
          arguments.clip,
          arguments.init == "fast"};
}

LlmTraining::LlmTraining(const LlmSetup& setup, const Registries& registries) : setup_(setup) {
  ProcessContext context;
  context.registries = &registries;
  context.world = setup.world;
  context.path = "--device";
  kernels_ = make_device_kernels(setup.device.type(), context);
  context.path = "model.llm";
  model_ = registries.create<Backbone>(setup.model, context);
  context.path = "trainer.strategy";
  strategy_ = registries.create<ParallelStrategy>(setup.strategy, context);
  context.path = "model.optimizer";
  optimizer_ = registries.create<Optimizer>(llm_optimizer_node(), context);
  using From = InitialValuesSettings::From;
  const InitialValues values(*model_, {setup.device, setup.precision.parameter_type, /*seed=*/1,
                                       setup.is_fast ? From::kNowhere : From::kFiles});
  const ShardPlan plan = model_->configure_model(strategy_->mesh());
  if (setup.whole_first) values.fill(model_->named_parameters());
  strategy_->attach_meta(*model_, plan, values);
  attach_bytes_ = peak_memory_bytes();
  at::manual_seed(static_cast<uint64_t>(100 + strategy_->data_rank()));
  if (setup.is_fast) {
    draw_on_device(*model_);
    strategy_->after_update(*model_);
  }
  std::vector<NamedTensor> parameters = strategy_->optimizer_parameters(*model_);
  const size_t count = parameters.size();
  optimizer_->attach(std::move(parameters), std::vector<double>(count, 1.0));
  const at::Tensor tokens =
      at::randint(model_->shape().vocab_size, {setup.batch_size, setup.positions + 1}, at::kLong);
  ids_BT_ = tokens.slice(1, 0, setup.positions).contiguous().to(setup.device);
  labels_BT_ = tokens.slice(1, 1).contiguous().to(setup.device);
  num_labels_ = strategy_->sum_over_data({static_cast<double>(labels_BT_.numel())})[0];
  model_->train(true);
}

int64_t LlmTraining::num_parameters() {
  int64_t count = 0;
  for (const NamedTensor& p : model_->named_parameters()) {
    count += c10::multiply_integers(p.sizes);
  }
  return count;
}

at::Tensor LlmTraining::forward() {
  strategy_->begin_step(*model_);
  strategy_->begin_micro_batch(*model_, /*is_last=*/true);
  const AutocastScope autocast(setup_.precision, setup_.device.type());
  const at::Tensor hidden_BTH = (*model_)(model_->embed(ids_BT_), SequenceInfo());
  return linear_cross_entropy(hidden_BTH.flatten(0, 1), model_->head(), labels_BT_.view({-1, 1})) /
         num_labels_;
}

at::Tensor LlmTraining::backward(at::Tensor loss) {
  loss.backward();
  strategy_->finish_backward(*model_);
  return loss.detach();
}

double LlmTraining::gradient_norm() { return strategy_->grad_norm(*model_).item<double>(); }

void LlmTraining::update() {
  if (setup_.clip > 0) {
    GradientUpdate(*model_, *strategy_, *optimizer_, setup_.clip).run(LlmOptimizer::kLearningRate);
    return;
  }
  optimizer_->step(LlmOptimizer::kLearningRate);
  strategy_->after_update(*model_);
}

at::Tensor LlmTraining::step() {
  at::Tensor loss = backward(forward());
  update();
  return loss;
}

}  // namespace s2s::run
