#pragma once
// Builds all parts of a training: step by step for `train` and `config check` (run_preparation.h),
// at once for `bench train`, `tune-batch` and replays.

#include <map>
#include <memory>
#include <string>

#include "run/run.h"
#include "run/run_processes.h"
#include "train/trainer.h"
#include "train/weight_average.h"

namespace s2s::run {

/// In the order in which they are built. Later members may refer to earlier ones.
struct RunParts {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
  std::unique_ptr<ParallelStrategy> strategy;
  std::unique_ptr<DataSource> data;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> schedule;
  AveragingOptimizer* average = nullptr;  // the optimizer, if exp_manager.ema is enabled

  TrainerParts of_trainer() const {
    return {model.get(), data.get(), strategy.get(), optimizer.get(), schedule.get()};
  }
};

/// Creates the tokenizer; null when there is none. Rank 0 may have to create its files first.
std::unique_ptr<Tokenizer> build_tokenizer(const RunBuilder& builder, const RunProcesses& processes,
                                           const std::string& checkpoint);

/// Attaches a meta model to its strategy, with the model's plan for the mesh.
void attach_strategy(ParallelStrategy& strategy, Model& model, const InitialValues& values);

/// Creates the meta model, and returns its initial values. Needs the tokenizer.
std::unique_ptr<InitialValues> add_model(RunParts& parts, const RunBuilder& builder,
                                         const std::string& checkpoint);
/// Creates the optimizer, with the moving average if it is enabled, and the schedule.
void add_optimizer(RunParts& parts, const RunBuilder& builder);
/// Freezes the parameters that `model` names. Unmatched patterns become warnings of `setup`.
void freeze_model(Model& model, const Run& setup);
/// The learning-rate scale of each parameter (model.optimizer.lr_scales). Warns of unmatched
/// patterns.
std::vector<double> lr_scales(const std::vector<NamedTensor>& trainable,
                              const OptimizerBlock& options, Warnings& warnings);
/// Allocates the model in its strategy, and attaches the optimizer to the trainable parameters.
void attach_training(const RunParts& parts, const Run& setup, const InitialValues& values);

/// Takes all steps: seeds the generators, builds the components, freezes parameters, attaches
/// strategy and optimizer. Rank 0 creates files before the other ranks continue. `strategy`: from
/// build_strategy. `checkpoint`: the one to resume from, or ""; its copies of files take
/// precedence. `data`: replaces the configured training data; may be null. Unmatched patterns
/// become warnings of `setup`. Errors: those of the components.
RunParts build_training(const Run& setup, const RunProcesses& processes,
                        std::unique_ptr<ParallelStrategy> strategy,
                        const std::string& checkpoint = "",
                        std::unique_ptr<DataSource> data = nullptr);

/// Fits the codec to a separate pass over training data, with the same result on all ranks, unless
/// a checkpoint provided the statistics. The data sets then know the codec of kept codes.
void fit_codec_of(const RunParts& parts, const RunBuilder& builder);

/// Returns the ASR scorer, prepared with the texts of all data, or null when none is configured.
/// Errors: those of the scorer.
std::unique_ptr<Scorer> prepared_scorer(const RunBuilder& builder, const Tokenizer* tokenizer,
                                        const std::map<std::string, ShareFactory>& sets);

/// Returns the name of the link to a checkpoint (checkpoint_callback_params.filename), or "".
/// `numbers`: of the newest validation. Errors: [config/filename].
std::string link_name(const RunOptions& settings, std::map<std::string, double> numbers,
                      int64_t steps_done);

TrainerSettings trainer_settings(const RunBuilder& builder);

}  // namespace s2s::run
