#pragma once
// The blocks of a configuration that the training room reads. Names are NeMo speechlm2's.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "s2s/options.h"

namespace s2s {

/// A factor on the learning rate of the parameters that a pattern matches at their start.
struct LrScale {
  std::string params;
  double scale = 1;
  void visit(OptionVisitor& v) {
    v("params", params, "regular expression, matched at the start of parameter names");
    v("scale", scale, "factor on the learning rate", at_least(0));
  }
};

struct TrainerOptions {
  std::string accelerator = "auto";
  std::string precision = "32-true";
  int64_t max_steps = 1000;
  std::optional<int64_t> val_check_interval;
  std::optional<int64_t> limit_val_batches;
  int64_t log_every_n_steps = 10;
  std::optional<double> gradient_clip_val;
  int64_t accumulate_grad_batches = 1;
  int64_t seed = 0;
  std::optional<int64_t> num_threads;
  int64_t codec_fit_batches = 32;
  Config strategy;
  void visit(OptionVisitor& v);
};

struct CheckpointOptions {
  std::optional<int64_t> every_n_train_steps;
  int64_t save_top_k = 1;
  void visit(OptionVisitor& v);
};

struct ExpManagerOptions {
  std::optional<std::string> exp_dir;
  std::optional<std::string> explicit_log_dir;
  std::string name = "run";
  std::optional<std::string> max_time_per_run;
  std::optional<std::string> resume_from_checkpoint;
  bool resume_if_exists = true;
  CheckpointOptions checkpoint_callback_params;
  void visit(OptionVisitor& v);

  /// explicit_log_dir, or exp_dir/name.
  std::string run_folder() const;
  /// max_time_per_run (DD:HH:MM:SS) in seconds; 0 when there is none.
  /// Errors: [config/duration].
  double max_time_s() const;
};

/// What the trainer itself reads of the `model` block; the model component reads the rest.
struct ModelOptions {
  std::string type;
  std::vector<std::string> freeze_params;
  std::vector<std::string> prevent_freeze_params;
  std::vector<LrScale> lr_scales;
};
/// Keys of the `model` block that the model component does not see.
const std::vector<std::string>& trainer_owned_model_keys();

struct RunOptions {
  TrainerOptions trainer;
  ExpManagerOptions exp_manager;
  ModelOptions model;
  /// data.validation_ds.datasets: each set with what it inherits from validation_ds.
  std::map<std::string, Config> validation_sets;
};

/// Reads an effective configuration; all findings together.
RunOptions read_run_options(const Config& config);

}  // namespace s2s
