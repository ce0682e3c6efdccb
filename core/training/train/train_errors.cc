#include "train/train_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "base/io_errors.h"
#include "comm/rank_list.h"
#include "s2s/foreign_text.h"

namespace s2s {
namespace {

/// Returns "nan" for NaN of either sign.
std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

std::string lines(const std::vector<std::string>& entries, size_t limit = 20) {
  std::string text;
  for (size_t i = 0; i < entries.size() && i < limit; ++i) text += "\n  " + entries[i];
  if (entries.size() > limit) text += fmt::format("\n  ... and {} more", entries.size() - limit);
  return text;
}

}  // namespace

void throw_unknown_precision(const std::string& text, const std::string& origin) {
  throw Error(ExitCode::kConfig, "config/precision",
              fmt::format("trainer.precision = '{}' is not known ({})\n"
                          "  expected: 32-true, bf16-true, bf16-mixed or 16-mixed",
                          text, origin));
}

void throw_no_update_in_backward(const std::string& reason) {
  throw Error(ExitCode::kConfig, "config/update-in-backward",
              fmt::format("trainer.update_in_backward is true, but {}\n"
                          "  expected: trainer.gradient_clip_val: null, "
                          "trainer.accumulate_grad_batches: 1, another precision than 16-mixed, "
                          "trainer.strategy: single, and an optimizer such as adamw",
                          reason));
}

void throw_not_finite(const std::string& what, double value, int64_t step,
                      const std::vector<std::string>& batch_ids, const std::string& saved) {
  const std::string next =
      saved.empty() ? "" : fmt::format("\n  next:     s2s-run train --replay {}", saved);
  throw Error(ExitCode::kNumerics, "numerics/not-finite",
              fmt::format("the {} of step {} is {}\n  expected: a finite number; try a lower "
                          "model.optimizer.lr, a longer warm-up, trainer.gradient_clip_val, or "
                          "trainer.precision: 32-true{}\n  the batch contained:{}",
                          what, step, number_text(value), next, lines(batch_ids)));
}

void throw_no_saved_step(const std::string& path, const std::string& reason) {
  throw Error(ExitCode::kData, "run/replay",
              fmt::format("{} cannot be replayed: {}\n  expected: a file "
                          "bad_steps/batch.STEP.RANK.safetensors of a run, beside its weights",
                          path, reason));
}

void throw_gradients_not_finite(const SkippedStep& last) {
  throw Error(
      ExitCode::kNumerics, "numerics/not-finite",
      fmt::format("the gradient norm of step {} is {}, and the {} updates before it were skipped "
                  "for the same reason; the weights are unchanged since then\n"
                  "  expected: no more than trainer.max_skipped_steps such steps in a row; try a "
                  "lower model.optimizer.lr, a longer warm-up, or trainer.precision: 32-true\n"
                  "  the batch contained:{}",
                  last.step + 1, number_text(last.grad_norm), last.in_a_row - 1,
                  lines(last.batch_ids)));
}

void throw_weight_not_finite(const std::string& name, const std::vector<int64_t>& index,
                             double value, int64_t steps_done) {
  throw Error(ExitCode::kNumerics, "numerics/not-finite",
              fmt::format("after step {}, {} is {} at [{}]; no checkpoint is written, earlier "
                          "checkpoints are untouched\n"
                          "  expected: finite numbers; try a lower model.optimizer.lr, a longer "
                          "warm-up, trainer.gradient_clip_val, or trainer.precision: 32-true",
                          steps_done, name, value, fmt::join(index, ", ")));
}

void throw_loss_parts_differ(int64_t step, const std::vector<std::string>& names) {
  std::map<std::string, std::vector<int64_t>> ranks_of;
  for (size_t rank = 0; rank < names.size(); ++rank) {
    ranks_of[names[rank]].push_back(static_cast<int64_t>(rank));
  }
  std::vector<std::string> entries;
  for (const auto& [text, ranks] : ranks_of) {
    entries.push_back(fmt::format("data rank{} {}: {}", ranks.size() == 1 ? "" : "s",
                                  rank_list(ranks), text.empty() ? "none" : text));
  }
  throw Error(ExitCode::kCommunication, "comm/loss-parts",
              fmt::format("the loss terms of step {} differ between ranks{}\n"
                          "  expected: the same names from every rank in every step; return 0 from "
                          "training_loss for terms that the batch does not have",
                          step, lines(entries)));
}

void throw_data_exhausted(int64_t step, int64_t max_steps) {
  throw Error(ExitCode::kData, "data/exhausted",
              fmt::format("data.train_ds ended at step {} of {}\n  expected: a source that repeats "
                          "(data.train_ds.repeat: true), or a smaller trainer.max_steps",
                          step, max_steps));
}

void throw_no_checkpoint(const std::string& folder, const std::string& why) {
  throw Error(ExitCode::kData, "checkpoint/missing",
              fmt::format("no checkpoint at {}: {}\n  expected: a folder checkpoints/step=N of a "
                          "run, or checkpoints/last",
                          folder, why));
}

void throw_other_model(const std::string& folder, const std::vector<std::string>& differences) {
  throw Error(ExitCode::kConfig, "checkpoint/model",
              fmt::format("{} belongs to another model:{}\n  expected: the model block of the "
                          "config that made it (config.yaml in its folder)",
                          folder, lines(differences)));
}

void throw_other_run(const std::string& folder, const std::string& family,
                     const std::vector<std::string>& differences) {
  throw Error(ExitCode::kConfig, "checkpoint/model",
              fmt::format("{}: this run folder holds a run of another model ('{}'):{}\n"
                          "  next: choose another exp_manager.explicit_log_dir",
                          folder, family, lines(differences)));
}

Error checkpoint_write_error(const std::string& folder, const std::string& reason) {
  return {ExitCode::kData, "checkpoint/write",
          fmt::format("the checkpoint {} could not be written: {}\n  expected: enough free "
                      "space and the right to write; earlier checkpoints are untouched",
                      folder, reason)};
}

Error checkpoint_cleanup_error(const std::string& folder, const std::string& reason) {
  return {ExitCode::kData, "checkpoint/cleanup",
          fmt::format("the checkpoint {} is complete, but a later step of saving failed: {}\n"
                      "  expected: permission to rename `last` and to remove older checkpoints in "
                      "the same folder",
                      folder, reason)};
}

std::string checkpoint_skipped(const std::string& folder, const std::string& fault,
                               const std::string& taken) {
  return fmt::format(
      "[checkpoint/skipped] {} is incomplete: {}\n"
      "  the run resumes from {}, the newest complete one; `checkpoint verify` lists all problems",
      folder, fault, taken);
}

void throw_nothing_trainable(const std::vector<std::string>& patterns) {
  throw Error(ExitCode::kConfig, "config/nothing-trainable",
              fmt::format("model.freeze_params freezes every parameter:{}\n  expected: at least "
                          "one parameter that trains (model.prevent_freeze_params keeps some)",
                          lines(patterns)));
}

void throw_checkpoint_exists(const std::string& folder) {
  throw Error(ExitCode::kConfig, "checkpoint/exists", exists_text(folder));
}

void throw_link_out(const std::string& file, const std::string& target) {
  throw Error(ExitCode::kConfig, "weights/link",
              fmt::format("{} is a link to {}, outside of its folder; its text would be copied "
                          "into the run and each checkpoint\n"
                          "  expected: a file of the folder; check the link's target, and copy the "
                          "folder with cp -rL if you want that file",
                          printable_name(file), printable_name(target)));
}

void throw_no_language_model() {
  throw Error(ExitCode::kConfig, "lora/model",
              "model.lora configures adapters, but this type of model takes none\n  "
              "expected: model.lora.r: 0, or a type of model that takes adapters");
}

void throw_other_averages(const std::vector<std::string>& differences) {
  throw Error(ExitCode::kConfig, "checkpoint/optimizer",
              fmt::format("the moving averages of the weights do not belong to this model\n  "
                          "{}\n  expected: a checkpoint of the same model, with the same frozen "
                          "parameters",
                          fmt::join(differences, "\n  ")));
}

void throw_no_average(const std::string& checkpoint) {
  throw Error(ExitCode::kConfig, "checkpoint/no-ema",
              fmt::format("{} has no moving average of the weights\n  expected: a checkpoint of a "
                          "run with exp_manager.ema.enable: true; leave out --ema",
                          checkpoint));
}

void throw_bad_filename(const std::string& pattern, const std::string& why) {
  throw Error(ExitCode::kConfig, "config/filename",
              fmt::format("exp_manager.checkpoint_callback_params.filename: '{}': {}\n  expected: "
                          "a file name with {{step}}, {{epoch}} and metrics such as "
                          "{{val_text_loss:.3f}}; set explicit_log_dir for another folder",
                          printable(pattern), printable(why)));
}

void throw_nothing_to_resume(const std::string& folder) {
  throw Error(
      ExitCode::kConfig, "run/no-checkpoint",
      fmt::format("{} has no checkpoint to resume from, and "
                  "exp_manager.resume_ignore_no_checkpoint is false\n  expected: the folder "
                  "of a run that has written a checkpoint; remove the key to start a new "
                  "run there",
                  folder));
}

void throw_lost_checkpoints(const std::string& folder, const std::vector<std::string>& traces,
                            const std::string& complete, const std::string& right_name) {
  std::string next = "a complete checkpoint checkpoints/step=N";
  if (!complete.empty()) {
    next = fmt::format(
        "to resume from the newest complete one, type mv '{}' '{}', or set "
        "exp_manager.resume_from_checkpoint: {}",
        complete, right_name, complete);
  }
  throw Error(ExitCode::kData, "run/lost-checkpoints",
              fmt::format("{} has no folder checkpoints/step=N, but has held checkpoints; a new "
                          "run would start at step 0. Found:{}\n"
                          "  expected: {}; to start at step 0, set another "
                          "exp_manager.explicit_log_dir, or move these names away",
                          folder, lines(traces), next));
}

void throw_no_pointer(const std::string& last, const std::string& what, const std::string& beside) {
  throw Error(ExitCode::kData, "checkpoint/pointer",
              fmt::format("{} is {}, expected a link to the newest checkpoint; checkpoints beside "
                          "it: {}\n"
                          "  expected: type mv '{}' '{}.old' and run again, which resumes from the "
                          "newest checkpoint beside it; or set another "
                          "exp_manager.explicit_log_dir",
                          last, what, beside, last, last));
}

std::string pointer_leads_nowhere(const std::string& last, const std::string& what,
                                  const std::string& taken) {
  return fmt::format(
      "[checkpoint/pointer] {} is {}\n"
      "  the run resumes from {}, the newest complete checkpoint of this folder; if "
      "you did not remove the newer one, stop the run and give it its name back",
      last, what, taken);
}

void throw_run_folder(const std::string& path, const std::string& reason) {
  throw Error(ExitCode::kData, "run/folder",
              fmt::format("{} cannot be written: {}\n  expected: a folder with free space and the "
                          "right to write; set exp_manager.explicit_log_dir",
                          path, reason));
}

std::string odd_metrics_line(const std::string& path, int64_t line) {
  return fmt::format(
      "[run/metrics] {}: line {} is not the line of a step and was dropped; expected an object "
      "with a whole number \"step\"",
      path, line);
}

std::string missing_metrics(const std::string& path, int64_t last_step, int64_t steps_done) {
  return fmt::format(
      "[run/metrics] {} lacks the lines of steps {} to {}, which the checkpoint includes; they "
      "were lost in a power failure or an edit and cannot be restored",
      path, last_step + 1, steps_done);
}

void throw_run_in_use(const std::string& folder, const std::string& holder) {
  throw Error(ExitCode::kData, "run/in-use",
              fmt::format("another run is using {}{}\n"
                          "  expected: one run at a time per folder; wait for that run, stop it, "
                          "or set another exp_manager.explicit_log_dir",
                          folder, holder.empty() ? "" : " (" + holder + ")"));
}

void throw_run_not_empty(const std::string& path, const std::string& what) {
  throw Error(ExitCode::kConfig, "run/not-empty",
              fmt::format("{} contains {} of another run, which this run would overwrite\n"
                          "  expected: exp_manager.resume_if_exists: true to continue it, or "
                          "another exp_manager.explicit_log_dir",
                          path, what));
}

void throw_accelerator(const std::string& place, const std::string& asked, const std::string& why) {
  throw Error(ExitCode::kConfig, "config/accelerator",
              fmt::format("{} = '{}': {}\n  expected: a machine with a GPU and its driver "
                          "(nvidia-smi lists it), or {}: cpu or auto",
                          place, asked, why, place));
}

Error report_write_error(const std::string& path, const std::string& reason) {
  return {ExitCode::kData, "eval/report-write",
          "cannot write " + path + ": " + reason +
              "; expected a writable folder with room for the report; choose another "
              "exp_manager.explicit_log_dir or free some space, then validate again"};
}

Error metrics_line_error(const std::string& path, int64_t line, const std::string& reason) {
  return {ExitCode::kData, "eval/metrics-line",
          path + ":" + std::to_string(line) + ": not a JSON object: " + reason +
              "; expected one JSON object per line; delete that line and validate again"};
}

Error reference_metadata_error(const std::string& path, const std::string& key,
                               const std::string& value, const std::string& expected) {
  return {ExitCode::kData, "reference/metadata",
          "'" + path + "' is not a reference file: metadata '" + key + "' is " +
              (value.empty() ? "missing" : "'" + value + "'") + ", expected " + expected};
}

Error reference_input_error(const std::string& path, const std::string& kind,
                            const std::string& name) {
  return {
      ExitCode::kData, "reference/no-input",
      "'" + path + "' has no tensor '" + name + "', which a reference of kind " + kind + " needs"};
}

Error reference_translation_error(const std::string& path, const std::string& kind,
                                  const std::string& name) {
  return {ExitCode::kPlugin, "reference/translate",
          kind + " '" + name + "' cannot read the options of '" + path +
              "': it has no translation of foreign configurations; set Component::translate"};
}

Error reference_dtype_error(const std::string& text) {
  return {ExitCode::kUsage, "reference/dtype",
          "--dtype '" + text + "' is not known; expected float32, float64, bfloat16 or float16"};
}

Error reference_device_error(const std::string& text, const std::string& why) {
  return {ExitCode::kUsage, "reference/device",
          "--device '" + text + "' cannot be used: " + why + "; expected cpu, gpu, cuda or cuda:N"};
}

}  // namespace s2s
