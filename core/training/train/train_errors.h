#pragma once
// Error and warning texts of the training layer.

#include <string>
#include <vector>

#include "s2s/error.h"
#include "train/step_report.h"

namespace s2s {

[[noreturn]] void throw_unknown_precision(const std::string& text, const std::string& origin);
/// [config/update-in-backward]. reason: what is in the way, as "gradients are clipped".
[[noreturn]] void throw_no_update_in_backward(const std::string& reason);
/// [numerics/not-finite]: a loss is NaN or infinite. `step`: 1-based. `saved`: the file for
/// `train --replay`, or "".
[[noreturn]] void throw_not_finite(const std::string& what, double value, int64_t step,
                                   const std::vector<std::string>& batch_ids,
                                   const std::string& saved = "");
/// [run/replay]: the file is not a saved step, or has no weights.
[[noreturn]] void throw_no_saved_step(const std::string& path, const std::string& reason);
/// [numerics/not-finite]: more consecutive updates were skipped than the run allows.
[[noreturn]] void throw_gradients_not_finite(const SkippedStep& last);
/// [numerics/not-finite]: a weight or an optimizer moment is not finite after `steps_done` steps.
[[noreturn]] void throw_weight_not_finite(const std::string& name,
                                          const std::vector<int64_t>& index, double value,
                                          int64_t steps_done);
/// [comm/loss-parts]: the ranks have different loss terms. `names`: the names of each data rank's
/// loss terms. `step`: 1-based.
[[noreturn]] void throw_loss_parts_differ(int64_t step, const std::vector<std::string>& names);
/// [data/exhausted]: the training data ended before trainer.max_steps.
[[noreturn]] void throw_data_exhausted(int64_t step, int64_t max_steps);
[[noreturn]] void throw_no_checkpoint(const std::string& folder, const std::string& why);
/// [checkpoint/model]: the checkpoint belongs to another model. The message lists every difference.
[[noreturn]] void throw_other_model(const std::string& folder,
                                    const std::vector<std::string>& differences);
/// [checkpoint/model] The run folder holds a run of another model, of the family `family`.
[[noreturn]] void throw_other_run(const std::string& folder, const std::string& family,
                                  const std::vector<std::string>& differences);
/// [checkpoint/write]
Error checkpoint_write_error(const std::string& folder, const std::string& reason);
/// [checkpoint/cleanup]: the checkpoint is complete, but renaming it, updating `last` or removing
/// older checkpoints failed.
Error checkpoint_cleanup_error(const std::string& folder, const std::string& reason);
/// The warning [checkpoint/skipped]: `folder` is incomplete; the older `taken` is used.
std::string checkpoint_skipped(const std::string& folder, const std::string& fault,
                               const std::string& taken);
/// [checkpoint/optimizer]: the moving averages are of other parameters.
[[noreturn]] void throw_other_averages(const std::vector<std::string>& differences);
/// [checkpoint/no-ema]: the checkpoint has no moving average of the weights.
[[noreturn]] void throw_no_average(const std::string& checkpoint);
/// [config/filename]: exp_manager.checkpoint_callback_params.filename cannot name checkpoints.
[[noreturn]] void throw_bad_filename(const std::string& pattern, const std::string& why);
/// [run/no-checkpoint]: a run that must resume has no checkpoint.
[[noreturn]] void throw_nothing_to_resume(const std::string& folder);
/// [run/lost-checkpoints]: the run would start at step 0 in a folder that has held checkpoints.
/// `traces`: a line each. `complete`: one that can be resumed, or "". `right_name`: its usual name.
[[noreturn]] void throw_lost_checkpoints(const std::string& folder,
                                         const std::vector<std::string>& traces,
                                         const std::string& complete,
                                         const std::string& right_name);
/// [checkpoint/pointer]: `last` is no link. `what`: "a file". `beside`: names of checkpoints.
[[noreturn]] void throw_no_pointer(const std::string& last, const std::string& what,
                                   const std::string& beside);
/// The warning [checkpoint/pointer]: `last` leads to a checkpoint that is gone.
std::string pointer_leads_nowhere(const std::string& last, const std::string& what,
                                  const std::string& taken);
[[noreturn]] void throw_nothing_trainable(const std::vector<std::string>& patterns);
[[noreturn]] void throw_run_folder(const std::string& path, const std::string& reason);
/// The warning [run/metrics]: line `line` (1-based) of metrics.jsonl does not belong to a step.
std::string odd_metrics_line(const std::string& path, int64_t line);
/// The warning [run/metrics]: the file lacks lines of steps that the checkpoint includes.
std::string missing_metrics(const std::string& path, int64_t last_step, int64_t steps_done);
/// [run/in-use]: another run uses the folder. `holder`: "process 17 on node1", or "" when unknown.
[[noreturn]] void throw_run_in_use(const std::string& folder, const std::string& holder);
/// [run/not-empty]: a run that must not resume would overwrite another run.
[[noreturn]] void throw_run_not_empty(const std::string& path, const std::string& what);
/// [checkpoint/exists]: the path of the new checkpoint already exists.
[[noreturn]] void throw_checkpoint_exists(const std::string& folder);
/// [weights/link]: a small file next to the weights, which the run would copy, is a link to a file
/// outside of its folder.
[[noreturn]] void throw_link_out(const std::string& file, const std::string& target);
/// [lora/model]: LoRA adapters are configured for a model without a language model.
[[noreturn]] void throw_no_language_model();
[[noreturn]] void throw_accelerator(const std::string& place, const std::string& asked,
                                    const std::string& why);

/// [eval/report-write]
Error report_write_error(const std::string& path, const std::string& reason);
/// [eval/metrics-line]
Error metrics_line_error(const std::string& path, int64_t line, const std::string& reason);

/// [reference/metadata] A metadata key is missing or has an unexpected value.
Error reference_metadata_error(const std::string& path, const std::string& key,
                               const std::string& value, const std::string& expected);
/// [reference/no-input] A tensor that this kind of reference needs is missing.
Error reference_input_error(const std::string& path, const std::string& kind,
                            const std::string& name);
/// [reference/translate] The component cannot read foreign configurations.
Error reference_translation_error(const std::string& path, const std::string& kind,
                                  const std::string& name);
/// [reference/dtype] The value of --dtype is unknown.
Error reference_dtype_error(const std::string& text);
/// [reference/device] The value of --device is unknown, or the device is not available.
Error reference_device_error(const std::string& text, const std::string& why);

}  // namespace s2s
