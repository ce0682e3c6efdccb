#pragma once
// Builds the objects of a run from its configuration: creates components, allocates the model,
// loads weights, freezes parameters.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/warnings.h"
#include "eval/metrics/named_metric.h"
#include "eval/metrics/shared_sets.h"
#include "observers/run_loggers.h"
#include "run/codec_of_codes.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/communicator.h"
#include "s2s/kinds/device_kernels.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "s2s/kinds/scorer.h"
#include "s2s/kinds/strategy.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/initial_values.h"
#include "s2s/registry.h"
#include "train/precision.h"
#include "train/run_options.h"

namespace s2s {

/// Returns the device of `accelerator`: cpu, gpu (also cuda), or auto (a GPU if there is one).
/// Loads the libraries of the device. `place`: the path of the option. Errors:
/// [config/accelerator].
at::Device choose_device(const std::string& place, const std::string& accelerator,
                         Warnings& warnings);

class RunBuilder {
 public:
  /// `config`: a checked configuration (`RunCheck::written`). `warnings` receives the warnings of
  /// the components. These three arguments must outlive this object. `own_metrics`: names of the
  /// metrics that every validation of answers computes (PluginScan::own_names). Only validation
  /// needs them.
  RunBuilder(const Config& config, const Registries& registries, Warnings& warnings,
             std::vector<std::string> own_metrics = {});

  /// Joins the other ranks of the run. Strategies are then built for all ranks, and this process
  /// uses the GPU of its local rank. Both arguments must outlive this object.
  void join(const ProcessPlace& process, Communicator& world);
  /// With trainer.elastic_ranks, changes accumulate_grad_batches so that a step keeps its number of
  /// micro-batches over all ranks. Warns if that is not possible.
  void keep_global_batch(int64_t num_ranks);
  /// Sets exp_manager.version, part of the run folder, at the start of a run without one.
  void set_version(const std::string& version) { settings_.exp_manager.version = version; }
  /// Entropy for seeds that must differ at every start (DataContext).
  uint64_t entropy() const { return entropy_; }
  void set_entropy(uint64_t entropy) { entropy_ = entropy; }

  const RunOptions& settings() const { return settings_; }
  const Precision& precision() const { return precision_; }
  at::Device device() const { return device_; }

  /// Creates the tokenizer of model.tokenizer, or returns null when there is none. If `checkpoint`
  /// (a folder, or "") contains a copy of the tokenizer, the copy is read instead of the configured
  /// path.
  /// Errors: those of the tokenizer, [checkpoint/missing].
  std::unique_ptr<Tokenizer> tokenizer(const std::string& checkpoint = "") const;
  /// Creates the model with allocated memory and initial values. With a `checkpoint` (a folder, or
  /// ""), which provides every weight, parameters are allocated but not initialized.
  /// Errors: those of its components.
  std::unique_ptr<Model> model(const Tokenizer* tokenizer,
                               const std::string& checkpoint = "") const;
  /// Returns the initial values of a meta model. Sets the sizes, dtypes and buffers of `model`,
  /// which must outlive the result.
  /// Errors: those of its components; pretrained files that do not fit.
  std::unique_ptr<InitialValues> initial_values(Model& model,
                                                const std::string& checkpoint = "") const;
  std::unique_ptr<Model> meta_model(const Tokenizer* tokenizer,
                                    const std::string& checkpoint = "") const;
  std::unique_ptr<ParallelStrategy> strategy() const;
  std::unique_ptr<Optimizer> optimizer() const;
  std::unique_ptr<Schedule> schedule() const;
  /// Opens the share of the training data that belongs to the strategy's data rank.
  std::unique_ptr<DataSource> train_source(const Tokenizer* tokenizer,
                                           const ParallelStrategy& strategy) const;
  /// Opens all training data, to read its texts. Returns null when the configuration has none. With
  /// `with_audio`, the agent's audio is loaded even if its codes are kept.
  std::unique_ptr<DataSource> all_train_data(const Tokenizer* tokenizer,
                                             bool with_audio = false) const;
  /// The codec whose kept codes the data sets may have. To be set when it has its weights.
  run::CodecOfCodes& codec_of_codes() const { return *codec_of_codes_; }
  /// Returns the metrics of answers: those that come with s2s, and those of model.metrics, with
  /// their options. Errors: those of the metrics.
  std::vector<NamedMetric> metrics() const;
  /// Creates the loggers of exp_manager.loggers, with component names. Errors: those of the
  /// loggers.
  std::vector<NamedLogger> loggers() const;
  /// Creates the ASR scorer of model.scoring_asr (a key of NeMo). Null when there is none.
  std::unique_ptr<Scorer> scorer() const;
  /// Returns a factory for each set of data.validation_ds.datasets. A set is opened once; each
  /// validation reads it from its beginning.
  std::map<std::string, ShareFactory> validation_sources(const Tokenizer* tokenizer) const;

 private:
  /// Adds the values of NeMo's keys (pretrained_parts.h).
  void add_pretrained_parts(Model& model, InitialValues& values) const;
  BuildContext context(const std::string& path) const;
  DataContext data_context(const std::string& path, const Tokenizer* tokenizer,
                           const DataShare& share) const;

  const Config& config_;
  const Registries& registries_;
  Warnings& warnings_;
  RunOptions settings_;
  Precision precision_;
  at::Device device_;
  std::unique_ptr<DeviceKernels> kernels_;  // of the device, if a plugin has some
  const ProcessPlace* process_ = nullptr;   // null: this is the only process
  Communicator* world_ = nullptr;
  uint64_t entropy_;
  std::vector<std::string> own_metrics_;
  std::shared_ptr<run::CodecOfCodes> codec_of_codes_;
};

}  // namespace s2s
