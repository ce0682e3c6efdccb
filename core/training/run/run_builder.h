#pragma once
// From a configuration to the objects of a run: looks names up, gives memory, loads, freezes.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/warnings.h"
#include "eval/metrics/named_metric.h"
#include "eval/metrics/shared_sets.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/communicator.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "s2s/kinds/scorer.h"
#include "s2s/kinds/speech_model.h"
#include "s2s/kinds/strategy.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/initial_values.h"
#include "s2s/registry.h"
#include "train/precision.h"
#include "train/run_loggers.h"
#include "train/run_options.h"

namespace s2s {

/// The device of `trainer.accelerator`: cpu, gpu (also cuda), or auto, the GPU if there is one.
/// Errors: [config/accelerator].
at::Device choose_device(const std::string& accelerator);

class RunBuilder {
 public:
  /// `config`: a checked one (`RunCheck::written`). `warnings` receives what parts warn of. All
  /// must live on.
  RunBuilder(const Config& config, const Registries& registries, Warnings& warnings);

  /// The processes that the run has beside this one: strategies are built for them, and this one
  /// computes on the GPU of its local rank. Both must live on.
  void join(const ProcessPlace& process, Communicator& world);
  /// The number that seeds are made of which ask for another one at every start (DataContext).
  uint64_t entropy() const { return entropy_; }
  void set_entropy(uint64_t entropy) { entropy_ = entropy; }

  const RunOptions& settings() const { return settings_; }
  const Precision& precision() const { return precision_; }
  at::Device device() const { return device_; }

  /// The tokenizer of model.tokenizer, or null when there is none. One that `checkpoint` (a folder,
  /// or "") holds a copy of is read from there, whatever has become of the configured path.
  /// Errors: those of the tokenizer, [checkpoint/missing].
  std::unique_ptr<Tokenizer> tokenizer(const std::string& checkpoint = "") const;
  /// The model with memory and initial values. With a `checkpoint` (a folder, or ""), which brings
  /// every weight, parameters have memory only. Errors: those of its parts.
  std::unique_ptr<SpeechModel> model(const Tokenizer* tokenizer,
                                     const std::string& checkpoint = "") const;
  /// The initial values of a meta model, which gets sizes, types and buffers here, and lives on.
  /// Errors: those of its parts; pretrained files that do not fit.
  std::unique_ptr<InitialValues> initial_values(SpeechModel& model,
                                                const std::string& checkpoint = "") const;
  /// The model without memory.
  std::unique_ptr<SpeechModel> described_model(const Tokenizer* tokenizer,
                                               const std::string& checkpoint = "") const;
  std::unique_ptr<ParallelStrategy> strategy() const;
  std::unique_ptr<Optimizer> optimizer() const;
  std::unique_ptr<Schedule> schedule() const;
  /// The part of the training data that belongs to the strategy's rank.
  std::unique_ptr<DataSource> train_source(const Tokenizer* tokenizer,
                                           const ParallelStrategy& strategy) const;
  /// All training data, for its texts. Null when the configuration has none.
  std::unique_ptr<DataSource> all_train_data(const Tokenizer* tokenizer) const;
  /// The metrics of model.metrics. Errors: their own, here.
  std::vector<NamedMetric> metrics() const;
  /// The loggers of exp_manager.loggers, with the names of their components. Errors: their own.
  std::vector<NamedLogger> loggers() const;
  /// The listener of model.scoring_asr (NeMo's key), or null when there is none.
  std::unique_ptr<Scorer> scorer() const;
  /// One factory for each of data.validation_ds.datasets. A set is opened once; a later validation
  /// reads it from its beginning again.
  std::map<std::string, ShareFactory> validation_sources(const Tokenizer* tokenizer) const;

 private:
  BuildContext context(const std::string& path) const;
  DataContext data_context(const std::string& path, const Tokenizer* tokenizer,
                           const DataShare& share) const;

  const Config& config_;
  const Registries& registries_;
  Warnings& warnings_;
  RunOptions settings_;
  Precision precision_;
  at::Device device_;
  const ProcessPlace* process_ = nullptr;  // null: the only one
  Communicator* world_ = nullptr;
  uint64_t entropy_;
};

}  // namespace s2s
