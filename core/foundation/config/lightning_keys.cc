#include "config/lightning_keys.h"

namespace s2s {
namespace {

constexpr const char* kEndOfRun = "trainer.max_steps ends a run";
constexpr const char* kUnset = "this is the default";

}  // namespace

std::vector<KeyWithoutEffect> lightning_defaults() {
  return {
      {"trainer.max_epochs", kEndOfRun, "-1|null"},
      {"trainer.min_epochs", kEndOfRun, "null|0|1"},
      {"trainer.min_steps", kEndOfRun, "null|0|1"},
      {"trainer.max_time", kUnset, "null"},
      {"trainer.check_val_every_n_epoch", "trainer.val_check_interval says when", "1|null"},
      {"trainer.gradient_clip_algorithm", "the norm of all gradients is clipped", "norm|null"},
      {"trainer.profiler", kUnset, "null|false"},
      {"trainer.callbacks", kUnset, "null|[]"},
      {"trainer.plugins", kUnset, "null|[]"},
      {"trainer.fast_dev_run", kUnset, "false|0|null"},
      {"trainer.overfit_batches", kUnset, "0|null"},
      {"trainer.default_root_dir", kUnset, "null"},
      {"trainer.sync_batchnorm", kUnset, "false|null"},
      {"trainer.barebones", kUnset, "false"},
      {"trainer.model_registry", kUnset, "null"},
      {"trainer.enable_autolog_hparams", "metrics.jsonl always contains all values"},
      {"trainer.precision", "the default is 32-true", "null"},
      {"trainer.accelerator", "the default is auto", "null"},
      {"trainer.deterministic", kUnset, "null"},
      {"trainer.log_every_n_steps", "the default is 10", "null"},
      {"trainer.accumulate_grad_batches", "the default is 1", "null"},
      {"trainer.num_sanity_val_steps", "the default is 0", "null"},
  };
}

std::vector<KeyWithoutEffect> old_lightning_keys() {
  return {
      {"trainer.checkpoint_callback", "exp_manager decides when"},
      {"trainer.replace_sampler_ddp", "data sources distribute their data"},
      {"trainer.progress_bar_refresh_rate", "this depends on the terminal"},
      {"trainer.weights_summary", "s2s-run plan prints it"},
      {"trainer.terminate_on_nan", "values that are not finite always end a run or are skipped"},
      {"trainer.flush_logs_every_n_steps", "every step is written"},
      {"trainer.track_grad_norm", "metrics.jsonl has the norm of each step"},
      {"trainer.log_gpu_memory", "metrics.jsonl has the memory of each step"},
      {"trainer.move_metrics_to_cpu", "metrics are numbers of the host"},
      {"trainer.multiple_trainloader_mode", "there is one source of training data"},
      {"trainer.prepare_data_per_node", "the launcher starts the processes"},
      {"trainer.amp_backend", "trainer.precision decides"},
      {"trainer.amp_level", "trainer.precision decides", "null|O0|O1"},
      {"trainer.auto_lr_find", kUnset, "false|null"},
      {"trainer.auto_scale_batch_size", kUnset, "false|null"},
      {"trainer.auto_select_gpus", kUnset, "false|null"},
      {"trainer.stochastic_weight_avg", kUnset, "false|null"},
      {"trainer.truncated_bptt_steps", kUnset, "null"},
      {"trainer.weights_save_path", kUnset, "null"},
      {"trainer.resume_from_checkpoint", kUnset, "null"},
      {"trainer.gpus", kUnset, "null"},
      {"trainer.tpu_cores", kUnset, "null|0"},
      {"trainer.ipus", kUnset, "null|0"},
  };
}

}  // namespace s2s
