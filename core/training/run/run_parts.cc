#include "run/run_parts.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <set>

#include "checkpoint/checkpoint_name.h"
#include "nn/lora.h"
#include "train/freeze.h"
#include "train/whole_updates.h"

namespace s2s::run {
namespace {

/// Attaches the trainable parameters, each with its learning-rate scale.
void attach_optimizer(const RunParts& parts, const RunOptions& settings, Warnings& warnings) {
  std::vector<NamedTensor> trainable =
      parameters_to_attach(*parts.optimizer, *parts.strategy, *parts.model);
  std::vector<double> scales = lr_scales(trainable, settings.optimizer, warnings);
  parts.optimizer->attach(std::move(trainable), std::move(scales));
}

}  // namespace

std::unique_ptr<Tokenizer> build_tokenizer(const RunBuilder& builder, const RunProcesses& processes,
                                           const std::string& checkpoint) {
  std::unique_ptr<Tokenizer> tokenizer;
  processes.first().run("model.tokenizer", [&] {
    tokenizer = builder.tokenizer(checkpoint);
    return std::string();
  });
  if (!processes.is_first()) tokenizer = builder.tokenizer(checkpoint);
  return tokenizer;
}

std::vector<double> lr_scales(const std::vector<NamedTensor>& trainable,
                              const OptimizerBlock& options, Warnings& warnings) {
  std::vector<std::pair<ParameterPattern, double>> rules;
  std::set<std::string> unused;
  for (const LrScaleBlock& rule : options.lr_scales) {
    rules.emplace_back(ParameterPattern(Config::scalar(rule.params), "model.optimizer.lr_scales"),
                       rule.scale);
    unused.insert(rule.params);
  }
  std::vector<double> scales;
  for (const NamedTensor& parameter : trainable) {
    double scale = 1;
    for (size_t i = 0; i < rules.size(); ++i) {
      if (!rules[i].first.matches(parameter.name)) continue;
      scale = rules[i].second;
      unused.erase(options.lr_scales[i].params);
    }
    scales.push_back(scale);
  }
  for (const std::string& pattern : unused) {
    warnings.add(
        fmt::format("model.optimizer.lr_scales: '{}' matches no parameter that trains", pattern));
  }
  return scales;
}

void attach_strategy(ParallelStrategy& strategy, Model& model, const InitialValues& values) {
  ShardPlan plan = model.configure_model(strategy.mesh());
  add_lora_rows(model, plan);
  strategy.attach_meta(model, plan, values);
}

std::unique_ptr<InitialValues> add_model(RunParts& parts, const RunBuilder& builder,
                                         const std::string& checkpoint) {
  parts.model = builder.meta_model(parts.tokenizer.get(), checkpoint);
  return builder.initial_values(*parts.model, checkpoint);
}

void add_optimizer(RunParts& parts, const RunBuilder& builder) {
  parts.optimizer = builder.optimizer();
  if (const EmaBlock& ema = builder.settings().exp_manager.ema; ema.enable) {
    auto averaging = std::make_unique<AveragingOptimizer>(std::move(parts.optimizer), ema);
    parts.average = averaging.get();
    parts.optimizer = std::move(averaging);
  }
  parts.schedule = builder.schedule();
}

void freeze_model(Model& model, const Run& setup) {
  const RunOptions& settings = setup.builder().settings();
  std::vector<std::string> frozen = settings.model.frozen();
  // Adapters of a whole model freeze all of it, as in PEFT.
  const bool is_whole = find_capability<TakesAdapters>(model) != nullptr;
  if (is_whole && settings.model.lora.r > 0) frozen.back() = "^.+$";
  FreezeRules rules(frozen, settings.model.kept());
  rules.of_model(model, settings.model.lora.r > 0);
  freeze_parameters(model, rules);
  const std::vector<NamedTensor> parameters = model.named_parameters();
  for (const std::string& pattern : rules.unmatched(parameters)) {
    setup.warnings().add(fmt::format("model.freeze_params: '{}' matches no parameter", pattern));
  }
  for (const std::string& pattern : rules.kept_in_vain(parameters)) {
    setup.warnings().add(
        fmt::format("model.prevent_freeze_params: '{}' has no effect: model.lora freezes the "
                    "language model, its embedding and its head",
                    pattern));
  }
}

void attach_training(const RunParts& parts, const Run& setup, const InitialValues& values) {
  attach_strategy(*parts.strategy, *parts.model, values);
  attach_optimizer(parts, setup.builder().settings(), setup.warnings());
}

RunParts build_training(const Run& setup, const RunProcesses& processes,
                        std::unique_ptr<ParallelStrategy> strategy, const std::string& checkpoint,
                        std::unique_ptr<DataSource> data) {
  const RunBuilder& builder = setup.builder();
  at::manual_seed(static_cast<uint64_t>(builder.settings().trainer.seed));
  RunParts parts;
  parts.tokenizer = build_tokenizer(builder, processes, checkpoint);
  const std::unique_ptr<InitialValues> values = add_model(parts, builder, checkpoint);
  parts.strategy = std::move(strategy);
  parts.data =
      data ? std::move(data) : builder.train_source(parts.tokenizer.get(), *parts.strategy);
  add_optimizer(parts, builder);
  freeze_model(*parts.model, setup);
  attach_training(parts, setup, *values);
  return parts;
}

void fit_codec_of(const RunParts& parts, const RunBuilder& builder) {
  auto* const speaking = find_capability<HasCodec>(*parts.model);
  builder.codec_of_codes().set(*parts.model);
  if (speaking == nullptr || speaking->codec().is_fitted()) return;
  Codec& codec = speaking->codec();
  const std::unique_ptr<DataSource> source =
      builder.all_train_data(parts.tokenizer.get(), /*with_audio=*/true);
  const int64_t num_batches = builder.settings().trainer.codec_fit_batches;
  std::optional<Batch> batch;
  int64_t row = 0, taken = 0;
  codec.fit([&]() -> at::Tensor {
    if (!batch || row == batch->size()) {
      if (taken++ == num_batches) return {};
      batch = source->next();
      row = 0;
      if (!batch) return {};
    }
    const int64_t length = batch->target_audio_lens_B[row].item<int64_t>();
    return batch->target_audio_BS[row++].narrow(0, 0, length);
  });
}

std::unique_ptr<Scorer> prepared_scorer(const RunBuilder& builder, const Tokenizer* tokenizer,
                                        const std::map<std::string, ShareFactory>& sets) {
  std::unique_ptr<Scorer> scorer = builder.scorer();
  if (scorer == nullptr) return nullptr;
  std::vector<std::string> texts;
  const auto add_texts = [&texts](DataSource& source) {
    const std::vector<std::string> more = source.texts();
    texts.insert(texts.end(), more.begin(), more.end());
  };
  for (const auto& [name, factory] : sets) add_texts(*factory({}));
  if (const auto train = builder.all_train_data(tokenizer)) add_texts(*train);
  scorer->prepare(texts);
  return scorer;
}

std::string link_name(const RunOptions& settings, std::map<std::string, double> numbers,
                      int64_t steps_done) {
  const CheckpointBlock& block = settings.exp_manager.checkpoint_callback_params;
  if (!block.filename) return "";
  const int64_t epoch = epoch_steps(settings.trainer);
  numbers["step"] = static_cast<double>(steps_done);
  numbers["epoch"] = epoch == 0 ? 0 : static_cast<double>((steps_done - 1) / epoch);
  return checkpoint_name(*block.filename, numbers, block.auto_insert_metric_name);
}

TrainerSettings trainer_settings(const RunBuilder& builder) {
  const RunOptions& settings = builder.settings();
  TrainerSettings out;
  out.max_steps = settings.trainer.max_steps;
  out.accumulate = settings.trainer.accumulate_grad_batches;
  out.update_in_backward = settings.trainer.update_in_backward;
  out.max_skipped = settings.trainer.max_skipped_steps;
  out.save_bad_steps = settings.trainer.save_bad_steps;
  out.loss_spike = settings.trainer.loss_spike.value_or(0);
  out.seed = static_cast<uint64_t>(settings.trainer.seed);
  out.max_grad_norm = settings.trainer.gradient_clip_val.value_or(0);
  out.validate_every = settings.trainer.val_check_interval.value_or(0);
  out.saves = save_schedule(settings.exp_manager.checkpoint_callback_params, settings.trainer);
  out.max_time_s = settings.exp_manager.max_time_s();
  out.keeps_average = settings.exp_manager.ema.enable;
  out.precision = builder.precision();
  out.device = builder.device();
  return out;
}

}  // namespace s2s::run
