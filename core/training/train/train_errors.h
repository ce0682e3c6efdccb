#pragma once
// Messages of the training layer to its users.

#include <string>
#include <vector>

#include "s2s/error.h"
#include "train/step_report.h"

namespace s2s {

[[noreturn]] void throw_unknown_precision(const std::string& text, const std::string& origin);
/// [numerics/not-finite]: a loss is NaN or infinite. `step`: 1-based.
[[noreturn]] void throw_not_finite(const std::string& what, double value, int64_t step,
                                   const std::vector<std::string>& batch_ids);
/// [numerics/not-finite]: more updates were skipped one after the other than the run allows.
[[noreturn]] void throw_gradients_not_finite(const SkippedStep& last);
/// [numerics/not-finite]: a weight or a moment of the optimizer after `steps_done` steps.
[[noreturn]] void throw_weight_not_finite(const std::string& name,
                                          const std::vector<int64_t>& index, double value,
                                          int64_t steps_done);
/// [comm/loss-parts]: `names`: of the parts of the loss that each data rank has. `step`: 1-based.
[[noreturn]] void throw_loss_parts_differ(int64_t step, const std::vector<std::string>& names);
/// [data/exhausted]: the training source ended before the run did.
[[noreturn]] void throw_data_exhausted(int64_t step, int64_t max_steps);
[[noreturn]] void throw_no_checkpoint(const std::string& folder, const std::string& why);
/// [checkpoint/model]: it belongs to another model; every difference in one message.
[[noreturn]] void throw_other_model(const std::string& folder,
                                    const std::vector<std::string>& differences);
/// [checkpoint/write]
Error checkpoint_write_error(const std::string& folder, const std::string& reason);
/// [checkpoint/cleanup]: a checkpoint is whole, and its name, `last` or the removal of older ones
/// is not on the disk.
Error checkpoint_cleanup_error(const std::string& folder, const std::string& reason);
/// The warning [checkpoint/skipped]: `folder` is passed over for `taken`, the name of an older one.
std::string checkpoint_skipped(const std::string& folder, const std::string& fault,
                               const std::string& taken);
[[noreturn]] void throw_nothing_trainable(const std::vector<std::string>& patterns);
[[noreturn]] void throw_run_folder(const std::string& path, const std::string& reason);
/// The warning [run/metrics]: a line of metrics.jsonl (1-based) that is none of a step.
std::string odd_metrics_line(const std::string& path, int64_t line);
/// The warning [run/metrics]: it ends before the steps that the checkpoint has behind it.
std::string missing_metrics(const std::string& path, int64_t last_step, int64_t steps_done);
/// [run/in-use]: another run works in the folder; holder: "process 17 on node1", may be "".
[[noreturn]] void throw_run_in_use(const std::string& folder, const std::string& holder);
/// [run/not-empty]: a run that must not be resumed would overwrite another.
[[noreturn]] void throw_run_not_empty(const std::string& path, const std::string& what);
/// [checkpoint/exists]: something lies where a checkpoint is to be written.
[[noreturn]] void throw_checkpoint_exists(const std::string& folder);
/// [checkpoint/export]: what a checkpoint holds has no counterpart in the other format.
[[noreturn]] void throw_no_export(const std::string& what, const std::string& expected);
/// [weights/link]: a small file beside weights, which the run would copy, leads out of its folder.
[[noreturn]] void throw_link_out(const std::string& file, const std::string& target);
/// [lora/model]: adapters for a model that has no language model.
[[noreturn]] void throw_no_language_model();
[[noreturn]] void throw_accelerator(const std::string& asked, const std::string& why);

/// [eval/report-write]
Error report_write_error(const std::string& path, const std::string& reason);
/// [eval/metrics-line]
Error metrics_line_error(const std::string& path, int64_t line, const std::string& reason);

/// [reference/metadata] a key that is missing or has another value than expected.
Error reference_metadata_error(const std::string& path, const std::string& key,
                               const std::string& value, const std::string& expected);
/// [reference/no-input] a tensor that the kind needs.
Error reference_input_error(const std::string& path, const std::string& kind,
                            const std::string& name);
/// [reference/translate] a component that reads no foreign configurations.
Error reference_translation_error(const std::string& path, const std::string& kind,
                                  const std::string& name);
/// [reference/dtype] a --dtype that is not known.
Error reference_dtype_error(const std::string& text);
/// [reference/device] a --device that is not known or not there.
Error reference_device_error(const std::string& text, const std::string& why);

}  // namespace s2s
