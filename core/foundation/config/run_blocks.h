#pragma once
// The blocks of a run's configuration that belong to no plugin. The check, `config show` and the
// run read the same list of keys. Names are those of NeMo speechlm2 where it has one.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/options.h"

namespace s2s {

/// `model.lora`: low-rank adapters (nn/lora.h). Names as in PEFT's LoraConfig.
struct LoraOptions {
  int64_t r = 0;  // 0: no adapters
  double lora_alpha = 8;
  double lora_dropout = 0;
  std::vector<std::string> target_modules;
  std::optional<std::string> target_pattern;  // PEFT's target_modules, given as a text
  std::vector<std::string> exclude_modules;
  std::optional<std::string> exclude_pattern;
  std::vector<int64_t> layers_to_transform;
  std::vector<std::string> layers_pattern;
  Config rank_pattern, alpha_pattern;
  bool use_rslora = false;
  std::string task_type = "CAUSAL_LM";
  std::optional<std::string> path;
  void visit(OptionVisitor& v);
  /// target_modules, or q_proj and v_proj if it is empty.
  std::vector<std::string> targets() const;
  /// Targets exactly these modules.
  void target_only(std::vector<std::string> modules);
  /// True if some layers have another rank or alpha.
  bool has_patterns() const {
    return !rank_pattern.entries().empty() || !alpha_pattern.entries().empty();
  }
  /// The factor on the output of an adapter of this rank and alpha.
  double scale(int64_t rank, double alpha) const;
};

/// `trainer.profile`: the steps that a profiler records. Steps count from 0, as in NeMo.
struct ProfileBlock {
  std::optional<int64_t> begin_step;  // none: no profile
  std::optional<int64_t> end_step;    // the last one; none: begin_step
  std::vector<int64_t> ranks = {0};
  bool shapes = false;
  std::string tool = "trace";
  bool nvtx_ranges = true;
  void visit(OptionVisitor& v);
  int64_t last_step() const { return end_step.value_or(begin_step.value_or(-1)); }
};

/// `trainer`
struct TrainerBlock {
  std::string accelerator = "auto";
  std::string precision = "32-true";
  std::string float32_matmul = "highest";
  std::string attention = "auto";
  bool deterministic = false;
  int64_t max_steps = 1000;
  std::optional<int64_t> val_check_interval;
  std::optional<int64_t> limit_train_batches;
  std::optional<int64_t> limit_val_batches;
  std::optional<int64_t> limit_val_generate_batches;
  int64_t num_sanity_val_steps = 0;
  int64_t log_every_n_steps = 10;
  std::optional<double> gradient_clip_val;
  bool update_in_backward = false;
  int64_t accumulate_grad_batches = 1;
  std::optional<int64_t> elastic_ranks;
  int64_t seed = 0;
  std::optional<int64_t> num_threads;
  int64_t codec_fit_batches = 32;
  int64_t max_skipped_steps = 20;
  int64_t save_bad_steps = 2;
  std::optional<double> loss_spike = 3;
  std::optional<std::string> devices;
  std::optional<int64_t> num_nodes;
  std::optional<double> peak_tflops;
  ProfileBlock profile;
  Config strategy, communicator;
  void visit(OptionVisitor& v);
};

/// What the trainer reads of `trainer.communicator`; the communicator reads the rest.
struct CommunicatorBlock {
  std::string name = "auto";
  double timeout_s = 600;
  std::optional<double> first_step_timeout_s;
  double start_timeout_s = 300;
  void visit(OptionVisitor& v);
  double first_limit_s() const { return first_step_timeout_s.value_or(3 * timeout_s); }
};

/// Processes on each machine. Nothing for "auto" and -1, which take the started number. Errors:
/// [config/type].
std::optional<int64_t> num_devices(const Config& node);

/// trainer.devices times trainer.num_nodes (1 when it is not given); nothing where devices are not
/// a number. Errors: [config/type].
std::optional<int64_t> configured_ranks(const Config& config);

/// `exp_manager.checkpoint_callback_params`
struct CheckpointBlock {
  std::optional<int64_t> every_n_train_steps;
  std::optional<int64_t> every_n_epochs;
  std::optional<std::string> train_time_interval;
  int64_t save_top_k = 1;
  std::optional<std::string> monitor;
  std::string mode = "min";
  bool async_save = false;
  std::optional<std::string> filename;
  bool auto_insert_metric_name = true;
  void visit(OptionVisitor& v);

  /// train_time_interval in seconds; 0 if absent. Errors: [config/duration].
  double interval_s() const;
};

/// `exp_manager.ema`: an exponential moving average of the weights (train/weight_average.h).
struct EmaBlock {
  bool enable = false;
  double decay = 0.999;
  int64_t every_n_steps = 1;
  bool validate_original_weights = false;
  bool cpu_offload = false;
  void visit(OptionVisitor& v);
};

/// `exp_manager.early_stopping_callback_params`
struct EarlyStoppingBlock {
  std::string monitor = "val_loss";
  std::string mode = "min";
  double min_delta = 0.001;
  int64_t patience = 10;
  bool check_finite = true;
  std::optional<double> stopping_threshold, divergence_threshold;
  void visit(OptionVisitor& v);
};

/// `exp_manager`
struct ExpManagerBlock {
  std::optional<std::string> exp_dir;
  std::optional<std::string> explicit_log_dir;
  std::string name = "run";
  std::optional<std::string> version;
  bool use_datetime_version = true;
  std::optional<std::string> max_time_per_run;
  std::optional<std::string> resume_from_checkpoint;
  bool resume_if_exists = true;
  bool resume_ignore_no_checkpoint = true;
  CheckpointBlock checkpoint_callback_params;
  EmaBlock ema;
  bool create_early_stopping_callback = false;
  EarlyStoppingBlock early_stopping_callback_params;
  std::vector<std::string> files_to_copy;
  Config loggers;
  int64_t log_examples = 2;
  bool log_histograms = false;
  double slow_step_s = 300;
  void visit(OptionVisitor& v);

  /// explicit_log_dir, or exp_dir/name; with /version if it is set.
  std::string run_folder() const;
  /// True if the start of a run has to choose a version: the run does not resume and sets neither
  /// explicit_log_dir nor version.
  bool needs_version() const;
  /// max_time_per_run in seconds; 0 if absent. Errors: [config/duration].
  double max_time_s() const;
};

/// Seconds of DD:HH:MM:SS at `path`. Errors: [config/duration].
double duration_s(const std::string& path, const Config& node);

/// The mesh that `plan` tries if `trainer.strategy` names no strategy.
struct MeshBlock {
  std::optional<int64_t> data_parallel_size;
  std::optional<int64_t> tensor_parallel_size;
  bool sequence_parallel = true;
  bool replicate_kv_heads = true;
  int64_t zero_stage = 3;
  void visit(OptionVisitor& v);
};

/// Scales the learning rate of the parameters whose names a pattern matches at their start.
struct LrScaleBlock {
  std::string params;
  double scale = 1;
  void visit(OptionVisitor& v);
};

/// What the trainer reads of `model.optimizer`; the optimizer component reads the rest.
struct OptimizerBlock {
  std::vector<LrScaleBlock> lr_scales;
  void visit(OptionVisitor& v);
};

/// What the trainer reads of `model`; the model component reads the rest.
struct ModelBlock {
  std::string type;
  std::vector<std::string> freeze_params;
  std::vector<std::string> prevent_freeze_params;
  bool pretrained_weights = true;
  LoraOptions lora;  // of the language model
  // checkpoints that initial values are read from, where they fit
  std::optional<std::string> pretrained_perception_from_s2s, pretrained_s2s_model,
      init_from_checkpoint;
  Config tokenizer, optimizer, lr_scheduler, scoring_asr, metrics;
  void visit(OptionVisitor& v);

  /// freeze_params and prevent_freeze_params. With lora, also the language model without its
  /// adapters, as in NeMo.
  std::vector<std::string> frozen() const;
  std::vector<std::string> kept() const;
};

/// A named data set, with the keys that it inherits from `data.validation_ds`.
struct ValidationSet {
  std::string name;
  Config node;
};
/// The sets of data.validation_ds.datasets: the keys of validation_ds without `datasets`,
/// overridden by each set's own keys. Errors: [config/type] if one of these is not a map.
std::vector<ValidationSet> validation_sets(const Config& config);

/// Validation data must end. Sets `repeat: false` if the source's table has that option and the set
/// does not set it.
void end_validation_set(Config& set, const OptionTable& table);

}  // namespace s2s
