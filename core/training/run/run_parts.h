#pragma once
// What a configuration's training is made of: for train, and for bench train, which measures it.

#include <map>
#include <memory>
#include <string>

#include "run/run.h"
#include "run/run_processes.h"
#include "train/trainer.h"

namespace s2s::run {

/// The parts in the order they are built; later ones may refer to earlier ones.
struct RunParts {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<SpeechModel> model;
  std::unique_ptr<ParallelStrategy> strategy;
  std::unique_ptr<DataSource> data;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> schedule;

  TrainerParts of_trainer() const {
    return {model.get(), data.get(), strategy.get(), optimizer.get(), schedule.get()};
  }
};

/// The tokenizer; rank 0 may have to make its files first. Null when there is none.
std::unique_ptr<Tokenizer> build_tokenizer(const RunBuilder& builder, const RunProcesses& processes,
                                           const std::string& checkpoint);

/// Gives a meta model to its strategy, with the plan that it has for the mesh.
void attach_strategy(ParallelStrategy& strategy, SpeechModel& model, const InitialValues& values);

/// Seeds the generators, builds the parts, freezes parameters, attaches strategy and optimizer.
/// What makes files, rank 0 does before the others. `strategy`: of build_strategy. `checkpoint`:
/// what the run goes on from, or "" (what it holds copies of counts). Patterns that match nothing
/// are said as warnings of `setup`. Errors: those of the parts.
RunParts build_training(const Run& setup, const RunProcesses& processes,
                        std::unique_ptr<ParallelStrategy> strategy,
                        const std::string& checkpoint = "");

/// Fits the codec to training data of its own pass, the same on all ranks, unless a checkpoint has
/// brought its statistics.
void fit_codec_of(const RunParts& parts, const RunBuilder& builder);

/// The listener, prepared with the texts of all data; null when none is named. Errors: its own.
std::unique_ptr<Scorer> prepared_scorer(const RunBuilder& builder, const Tokenizer* tokenizer,
                                        const std::map<std::string, ShareFactory>& sets);

/// The loop's settings from the configuration.
TrainerSettings trainer_settings(const RunBuilder& builder);

}  // namespace s2s::run
