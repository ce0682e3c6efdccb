#include "lightning/lightning_keys.h"

#include <array>

namespace s2s::interop {
namespace {

constexpr const char* kEndOfRun = "trainer.max_steps ends a run";
constexpr const char* kUnset = "this is the default";

constexpr std::array kRows = {
    // Lightning's defaults, which request what happens anyway.
    no_effect("trainer.max_epochs", kEndOfRun, "-1|null"),
    no_effect("trainer.min_epochs", kEndOfRun, "null|0|1"),
    no_effect("trainer.min_steps", kEndOfRun, "null|0|1"),
    no_effect("trainer.max_time", kUnset, "null"),
    no_effect("trainer.check_val_every_n_epoch", "trainer.val_check_interval says when", "1|null"),
    no_effect("trainer.gradient_clip_algorithm", "the norm of all gradients is clipped",
              "norm|null"),
    no_effect("trainer.profiler", kUnset, "null|false"),
    no_effect("trainer.callbacks", kUnset, "null|[]"),
    no_effect("trainer.plugins", kUnset, "null|[]"),
    no_effect("trainer.fast_dev_run", kUnset, "false|0|null"),
    no_effect("trainer.overfit_batches", kUnset, "0|null"),
    no_effect("trainer.default_root_dir", kUnset, "null"),
    no_effect("trainer.sync_batchnorm", kUnset, "false|null"),
    no_effect("trainer.barebones", kUnset, "false"),
    no_effect("trainer.model_registry", kUnset, "null"),
    no_effect("trainer.enable_autolog_hparams", "metrics.jsonl always contains all values"),
    no_effect("trainer.precision", "the default is 32-true", "null"),
    no_effect("trainer.accelerator", "the default is auto", "null"),
    no_effect("trainer.deterministic", kUnset, "null"),
    no_effect("trainer.log_every_n_steps", "the default is 10", "null"),
    no_effect("trainer.accumulate_grad_batches", "the default is 1", "null"),
    no_effect("trainer.num_sanity_val_steps", "the default is 0", "null"),
    // Options of versions before 2.0.
    no_effect("trainer.checkpoint_callback", "exp_manager decides when"),
    no_effect("trainer.replace_sampler_ddp", "data sources distribute their data"),
    no_effect("trainer.progress_bar_refresh_rate", "this depends on the terminal"),
    no_effect("trainer.weights_summary", "s2s-run plan prints it"),
    no_effect("trainer.terminate_on_nan",
              "values that are not finite always end a run or are skipped"),
    no_effect("trainer.flush_logs_every_n_steps", "every step is written"),
    no_effect("trainer.track_grad_norm", "metrics.jsonl has the norm of each step"),
    no_effect("trainer.log_gpu_memory", "metrics.jsonl has the memory of each step"),
    no_effect("trainer.move_metrics_to_cpu", "metrics are numbers of the host"),
    no_effect("trainer.multiple_trainloader_mode", "there is one source of training data"),
    no_effect("trainer.prepare_data_per_node", "the launcher starts the processes"),
    no_effect("trainer.amp_backend", "trainer.precision decides"),
    no_effect("trainer.amp_level", "trainer.precision decides", "null|O0|O1"),
    no_effect("trainer.auto_lr_find", kUnset, "false|null"),
    no_effect("trainer.auto_scale_batch_size", kUnset, "false|null"),
    no_effect("trainer.auto_select_gpus", kUnset, "false|null"),
    no_effect("trainer.stochastic_weight_avg", kUnset, "false|null"),
    no_effect("trainer.truncated_bptt_steps", kUnset, "null"),
    no_effect("trainer.weights_save_path", kUnset, "null"),
    no_effect("trainer.resume_from_checkpoint", kUnset, "null"),
    no_effect("trainer.gpus", kUnset, "null"),
    no_effect("trainer.tpu_cores", kUnset, "null|0"),
    no_effect("trainer.ipus", kUnset, "null|0"),
};

}  // namespace

ForeignKeys lightning_keys() { return kRows; }

}  // namespace s2s::interop
