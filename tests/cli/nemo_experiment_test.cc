// The whole exp_manager block of NeMo: every key is used, translated, or answered by its name.

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "s2s/foreign_text.h"

using namespace s2s::test;

namespace {

// ExpManagerConfig of NeMo 3.0.0 with its defaults (tests/reference/nemo_experiment.py lists the
// keys).
const char* const kBlock = R"(
explicit_log_dir: null
exp_dir: RUNS
name: null
version: null
use_datetime_version: true
resume_if_exists: false
resume_past_end: false
resume_ignore_no_checkpoint: false
resume_from_checkpoint: null
create_tensorboard_logger: true
summary_writer_kwargs: null
create_wandb_logger: false
wandb_logger_kwargs: null
create_mlflow_logger: false
mlflow_logger_kwargs: {experiment_name: null, run_name: null, tracking_uri: null, tags: null, save_dir: ./mlruns, prefix: "", artifact_location: null, run_id: null, log_model: false}
create_dllogger_logger: false
dllogger_logger_kwargs: {verbose: false, stdout: false, json_file: ./dllogger.json}
create_clearml_logger: false
clearml_logger_kwargs: {project: null, task: null, connect_pytorch: false, model_name: null, tags: null, log_model: false, log_cfg: false, log_metrics: false}
create_neptune_logger: false
neptune_logger_kwargs: null
create_checkpoint_callback: true
checkpoint_callback_params: {filepath: null, dirpath: null, filename: null, monitor: val_text_loss, verbose: true, save_last: true, save_top_k: 3, save_weights_only: false, mode: min, auto_insert_metric_name: true, every_n_epochs: 1, every_n_train_steps: null, train_time_interval: null, prefix: null, postfix: .nemo, save_best_model: false, always_save_nemo: false, save_nemo_on_train_end: true, model_parallel_size: null, save_on_train_epoch_end: false, async_save: false, save_last_n_optim_states: -1}
create_early_stopping_callback: false
create_ipl_epoch_stopper_callback: false
early_stopping_callback_params: {monitor: val_loss, mode: min, min_delta: 0.001, patience: 10, verbose: true, strict: true, check_finite: true, stopping_threshold: null, divergence_threshold: null, check_on_train_epoch_end: null, log_rank_zero_only: false}
ipl_epoch_stopper_callback_params: {enable_stop: true, stop_every_n_epochs: 1}
create_preemption_callback: true
files_to_copy: null
log_step_timing: true
log_delta_step_timing: false
step_timing_kwargs: {reduction: mean, sync_cuda: false, buffer_size: 1}
disable_validation_on_resume: true
ema: {enable: false, decay: 0.999, cpu_offload: false, validate_original_weights: false, every_n_steps: 1}
max_time_per_run: null
seconds_to_sleep: 5
create_straggler_detection_callback: false
straggler_detection_params: {report_time_interval: 300, calc_relative_gpu_perf: true, calc_individual_gpu_perf: true, num_gpu_perf_scores_to_log: 5, gpu_relative_perf_threshold: 0.7, gpu_individual_perf_threshold: 0.7, stop_if_detected: false}
create_fault_tolerance_callback: false
fault_tolerance: {workload_check_interval: 5.0, initial_rank_heartbeat_timeout: 3600.0, rank_heartbeat_timeout: 2700.0, calculate_timeouts: true, safety_factor: 5.0, rank_termination_signal: SIGKILL, log_level: INFO, max_rank_restarts: 0, max_subsequent_job_failures: 0, additional_ft_launcher_args: "", simulated_fault: null}
log_tflops_per_sec_per_gpu: true
)";

/// configs/tiny.yaml with this exp_manager block.
std::string tiny_with(const std::string& block) {
  std::string text = s2s::read_small_file(source_dir() + "/configs/tiny.yaml");
  const size_t begin = text.find("exp_manager:"), end = text.find("\ntiny:", begin);
  std::string indented = "exp_manager:\n";
  std::istringstream lines(block);
  for (std::string line; std::getline(lines, line);) indented += "  " + line + "\n";
  return text.replace(begin, end - begin, indented);
}

/// The keys at the top of a block, and those of the flow maps in it: "ema.enable".
std::vector<std::string> keys_of(const std::string& block) {
  std::vector<std::string> keys;
  std::istringstream lines(block);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, colon);
    if (line.find('{') == std::string::npos) {
      keys.push_back(key);
      continue;
    }
    std::istringstream parts(line.substr(line.find('{') + 1));
    for (std::string part; std::getline(parts, part, ',');) {
      const size_t first = part.find_first_not_of(' ');
      keys.push_back(key + "." + part.substr(first, part.find(':') - first));
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("every key of NeMo's exp_manager is used, or answered by its name") {
  const TemporaryFolder folder;
  std::string block = kBlock;
  block.replace(block.find("RUNS"), 4, folder / "runs");
  write_text(folder / "nemo.yaml", tiny_with(block));
  const CommandResult checked = run_cli("config check " + (folder / "nemo.yaml"));
  CHECK_MESSAGE(checked.exit_code == 0, checked.output);
  const CommandResult shown = run_cli("config show " + (folder / "nemo.yaml"));
  const std::vector<std::string> keys = keys_of(block);
  CHECK(keys.size() == 96);
  for (const std::string& key : keys) {
    const std::string top = key.substr(0, key.find('.'));
    const bool is_named = has(checked, ("exp_manager." + key + " (").c_str()) ||
                          has(checked, ("exp_manager." + top + " (").c_str());
    const std::string name = key.substr(key.find('.') + 1);
    const bool is_used =
        has(shown, ("\n  " + key + ":").c_str()) || has(shown, ("\n    " + name + ":").c_str());
    // A logger that is switched off asks for nothing; loggers_test.cc has the others.
    const bool is_off = key.find("_logger") != std::string::npos || key == "summary_writer_kwargs";
    CHECK_MESSAGE((is_named || is_used || is_off), key);
  }
}

TEST_CASE("what a key of NeMo asks for and s2s has elsewhere is an error that says where") {
  const TemporaryFolder folder;
  const std::string tiny = "config check " + source_dir() +
                           "/configs/tiny.yaml tiny.data=" + (folder / "data") +
                           " tiny.run=" + (folder / "run") + " exp_manager.";
  const std::map<std::string, std::string> cases = {
      {"checkpoint_callback_params.dirpath=/a", "write exp_manager.explicit_log_dir"},
      {"checkpoint_callback_params.filename=a/{step}", "[config/filename]"},
      {"create_ipl_epoch_stopper_callback=true", "unknown key 'create_ipl_epoch_stopper_callback'"},
      {"ema.decay=1.5", "exp_manager.ema.decay"},
      {"ema.every_n_step=2", "every_n_steps"}};
  for (const auto& [word, said] : cases) {
    const CommandResult result = run_cli(tiny + "'" + word.substr(0) + "'");
    CAPTURE(word);
    CHECK(result.exit_code == 3);
    CHECK_MESSAGE(has(result, said.c_str()), result.output);
  }
}

TEST_CASE("parts of an epoch are read as Lightning reads them") {
  const TemporaryFolder folder;
  const std::string tiny = " " + source_dir() +
                           "/configs/tiny.yaml tiny.data=" + (folder / "data") +
                           " tiny.run=" + (folder / "run") + " trainer.";
  const CommandResult part = run_cli("config check" + tiny +
                                     "val_check_interval=0.25 trainer.limit_train_batches=100 "
                                     "trainer.accumulate_grad_batches=2");
  CHECK_MESSAGE(part.exit_code == 0, part.output);
  CHECK_MESSAGE(has(part, "0.25 of limit_train_batches (100): every 13 optimizer steps"),
                part.output);
  const CommandResult whole = run_cli("config check" + tiny +
                                      "val_check_interval=1.0 trainer.limit_train_batches=40 "
                                      "trainer.limit_val_batches=1.0");
  CHECK_MESSAGE(has(whole, "every 40 optimizer steps"), whole.output);
  CHECK_MESSAGE(has(whole, "read as null, all batches"), whole.output);
  const CommandResult nothing = run_cli("config check" + tiny + "val_check_interval=0.5");
  CHECK(nothing.exit_code == 3);
  CHECK_MESSAGE(has(nothing, "with trainer.limit_train_batches: BATCHES"), nothing.output);
}
