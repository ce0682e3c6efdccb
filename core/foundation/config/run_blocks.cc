#include "config/run_blocks.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/number_text.h"
#include "config/config_errors.h"

namespace s2s {

namespace {

/// Options about failures, machines and profiling.
void visit_rest(TrainerBlock& block, OptionVisitor& v) {
  v("max_skipped_steps", block.max_skipped_steps,
    "maximum number of consecutive updates that are skipped because of non-finite gradients; one "
    "more ends the run",
    at_least(0));
  v("save_bad_steps", block.save_bad_steps,
    "number of steps with a loss or gradient norm that is not finite, or with a loss spike, whose "
    "batch and weights are saved for train --replay; 0: none",
    at_least(0));
  v("loss_spike", block.loss_spike,
    "a loss above this many times the mean of up to 50 losses before it is a spike; null: none is",
    at_least(1));
  v("devices", block.devices, "number of processes on each machine; null, auto, -1: any number");
  v("num_nodes", block.num_nodes, "number of machines; null: any number", at_least(1));
  v("peak_tflops", block.peak_tflops,
    "TFLOP/s of each rank's device, to which the utilization in metrics.jsonl is relative; null: "
    "those of a matrix product that is timed at the start",
    at_least(0));
  v("profile", block.profile, "the steps that a profiler records");
  v("strategy", block.strategy, "name of the parallel strategy, and its options", "strategy");
  v("communicator", block.communicator, "how the processes exchange tensors", "communicator");
}

}  // namespace

void TrainerBlock::visit(OptionVisitor& v) {
  v("accelerator", accelerator, "device type of the run", one_of({"auto", "cpu", "gpu", "cuda"}));
  v("precision", precision, "32-true, bf16-true, bf16-mixed or 16-mixed",
    one_of({"32-true", "32", "bf16-true", "bf16-mixed", "bf16", "16-mixed", "16", "fp16"}));
  v("float32_matmul", float32_matmul,
    "float32 products and convolutions on a GPU; highest: float32, high: TensorFloat-32, which is "
    "faster and has ten bits of mantissa",
    one_of({"highest", "high"}));
  v("attention", attention,
    "kernel of the attention of decoders; cudnn: cuDNN's, for training over all keys; flash: "
    "LibTorch's flash attention; math: the plain formula, slow, for debugging; auto: cudnn for the "
    "first few shapes of a training on a GPU that it is made for, else flash. Only math changes "
    "anything on a CPU",
    one_of({"auto", "cudnn", "flash", "math"}));
  v("deterministic", deterministic,
    "use deterministic algorithms on a GPU, so that two runs are equal bit by bit; slower. Runs on "
    "CPUs are deterministic anyway");
  v("max_steps", max_steps, "total number of optimizer steps", at_least(1));
  v("val_check_interval", val_check_interval,
    "optimizer steps between validations, or a part of limit_train_batches as 0.5; null: no "
    "validation",
    at_least(1));
  v("limit_train_batches", limit_train_batches,
    "batches per pseudo epoch, a unit for the checkpoint schedule; null: no pseudo epochs",
    at_least(1));
  v("limit_val_batches", limit_val_batches,
    "number of batches of each set in a validation during training; null: all", at_least(1));
  v("limit_val_generate_batches", limit_val_generate_batches,
    "number of these batches for which the model generates answers, for BLEU and turn taking; 0: "
    "none; null: all if model.scoring_asr or model.metrics is set or monitor needs them, otherwise "
    "none",
    at_least(0));
  v("num_sanity_val_steps", num_sanity_val_steps,
    "number of batches of each set that are validated before the first step of a new run, to find "
    "errors early; the results are dropped; -1: all",
    at_least(-1));
  v("log_every_n_steps", log_every_n_steps, "steps between progress lines on the console",
    at_least(1));
  v("gradient_clip_val", gradient_clip_val,
    "clip the gradients to this global norm; null: no clipping", at_least(0));
  v("update_in_backward", update_in_backward,
    "update each parameter in the backward and free its gradient, to save the memory of gradients; "
    "one process, without clipping and accumulation");
  v("accumulate_grad_batches", accumulate_grad_batches, "micro-batches per optimizer step",
    at_least(1));
  v("elastic_ranks", elastic_ranks,
    "number of ranks for which accumulate_grad_batches is meant; with another number, it is "
    "changed "
    "so that an optimizer step has as many micro-batches; null: it is never changed",
    at_least(1));
  v("seed", seed, "random seed of the initial values and of random choices in the model");
  v("num_threads", num_threads, "number of CPU threads; null: one per core", at_least(1));
  v("codec_fit_batches", codec_fit_batches,
    "number of batches from which a codec's statistics are computed", at_least(1));
  visit_rest(*this, v);
}

void ProfileBlock::visit(OptionVisitor& v) {
  v("begin_step", begin_step,
    "first optimizer step to profile, counted from 0; null: no profile is recorded", at_least(0));
  v("end_step", end_step, "last optimizer step to profile; null: begin_step", at_least(0));
  v("ranks", ranks, "ranks to profile; empty: all", at_least(0));
  v("shapes", shapes, "record the shapes of the operators' inputs");
  v("tool", tool,
    "trace: write a timeline (LibTorch's Kineto, for Perfetto, chrome://tracing and TensorBoard) "
    "to profile/ in the run folder; nsys: switch Nsight Systems on and off with cudaProfilerStart "
    "and cudaProfilerStop, for nsys profile --capture-range=cudaProfilerApi",
    one_of({"trace", "nsys"}));
  v("nvtx_ranges", nvtx_ranges,
    "with nsys: ranges of phases, modules, operators, data and communication");
}

void CommunicatorBlock::visit(OptionVisitor& v) {
  v("name", name, "name of the communicator; auto: the one for the device type of the run");
  v("timeout_s", timeout_s, "timeout of one collective", at_least(0.001));
  v("first_step_timeout_s", first_step_timeout_s,
    "timeout of one collective until the end of the first optimizer step, which includes setup and "
    "loading; null: three times timeout_s",
    at_least(0.001));
  v("start_timeout_s", start_timeout_s, "timeout for all ranks to join", at_least(0.001));
}

std::optional<int64_t> num_devices(const Config& node) {
  const std::string path = "trainer.devices";
  if (node.is_scalar() && node.text() == "auto") return std::nullopt;
  const int64_t number = node.is_scalar() ? read_number<int64_t>(node.text()).value_or(0) : 0;
  if (number < 1 && number != -1) {
    throw type_error(path, node, "the number of processes on each machine, -1 or auto");
  }
  return number == -1 ? std::nullopt : std::optional(number);
}

std::optional<int64_t> configured_ranks(const Config& config) {
  const Config* devices = config.find_path("trainer.devices");
  if (devices == nullptr || !devices->is_scalar()) return std::nullopt;
  const std::optional<int64_t> on_each = num_devices(*devices);
  if (!on_each) return std::nullopt;
  const Config* nodes = config.find_path("trainer.num_nodes");
  const bool is_given = nodes != nullptr && !nodes->is_null();
  if (!is_given) return on_each;
  constexpr int64_t kMostRanks = int64_t{1} << 20;  // the limit of every mesh
  const int64_t num_nodes = nodes->as_int("trainer.num_nodes");
  if (num_nodes > kMostRanks / *on_each) {
    throw bounds_error("trainer.num_nodes", *nodes, "at most 1048576 ranks on all machines");
  }
  return *on_each * num_nodes;
}

void CheckpointBlock::visit(OptionVisitor& v) {
  v("every_n_train_steps", every_n_train_steps,
    "optimizer steps between checkpoints; if this and the next two are null: a checkpoint after "
    "each validation, each pseudo epoch and every 30 minutes",
    at_least(1));
  v("every_n_epochs", every_n_epochs,
    "pseudo epochs between checkpoints (trainer.limit_train_batches), or validations if that is "
    "null",
    at_least(1));
  v("train_time_interval", train_time_interval, "time between checkpoints, as DD:HH:MM:SS");
  v("save_top_k", save_top_k,
    "number of checkpoints to keep: the newest, or with monitor the best and the newest; -1: all",
    at_least(-1));
  v("monitor", monitor,
    "validation metric that selects the best checkpoints, for example val_text_loss; null: keep "
    "the newest");
  v("mode", mode, "min: lower values of monitor are better; max: higher values are better",
    one_of({"min", "max"}));
  v("async_save", async_save,
    "write checkpoints in the background from a copy in memory, while training continues");
  v("filename", filename,
    "name of a link to each checkpoint, beside step=N, with {step}, {epoch} and metrics such as "
    "{val_text_loss:.3f}; null: no link");
  v("auto_insert_metric_name", auto_insert_metric_name,
    "{step} in filename becomes step=N; false: N");
}

void EmaBlock::visit(OptionVisitor& v) {
  v("enable", enable, "keep an exponential moving average (EMA) of the trained weights");
  v("decay", decay, "average = decay * average + (1 - decay) * weights", between(0, 1));
  v("every_n_steps", every_n_steps, "optimizer steps between updates of the average", at_least(1));
  v("validate_original_weights", validate_original_weights,
    "validate the weights themselves, not their average");
  v("cpu_offload", cpu_offload, "keep the average in the memory of the host");
}

void EarlyStoppingBlock::visit(OptionVisitor& v) {
  v("monitor", monitor, "validation metric that has to improve");
  v("mode", mode, "min: lower values of monitor are better; max: higher values are better",
    one_of({"min", "max"}));
  v("min_delta", min_delta, "a smaller change is no improvement", at_least(0));
  v("patience", patience, "validations without improvement after which the run ends", at_least(0));
  v("check_finite", check_finite, "end the run when monitor is NaN or infinite");
  v("stopping_threshold", stopping_threshold, "end the run when monitor is better than this");
  v("divergence_threshold", divergence_threshold, "end the run when monitor is worse than this");
}

void ExpManagerBlock::visit(OptionVisitor& v) {
  v("exp_dir", exp_dir, "parent folder of runs; the run folder is exp_dir/name");
  v("explicit_log_dir", explicit_log_dir, "run folder; replaces exp_dir/name");
  v("name", name, "name of the run");
  v("version", version, "folder of the run in exp_dir/name; null: see use_datetime_version");
  v("use_datetime_version", use_datetime_version,
    "a run with resume_if_exists: false and without explicit_log_dir gets a folder of its own in "
    "exp_dir/name: its date and time, or with false version_N");
  v("max_time_per_run", max_time_per_run,
    "maximum run time as DD:HH:MM:SS; the run then writes a checkpoint and stops");
  v("resume_from_checkpoint", resume_from_checkpoint,
    "checkpoint to start from, or a run folder (its last checkpoint)");
  v("resume_if_exists", resume_if_exists, "resume from the newest checkpoint in the run folder");
  v("resume_ignore_no_checkpoint", resume_ignore_no_checkpoint,
    "with resume_if_exists, start a new run where there is no checkpoint; false: that is an error");
  v("checkpoint_callback_params", checkpoint_callback_params, "when checkpoints are written");
  v("ema", ema, "exponential moving average of the weights");
  v("create_early_stopping_callback", create_early_stopping_callback,
    "end the run when a metric no longer improves");
  v("early_stopping_callback_params", early_stopping_callback_params,
    "when create_early_stopping_callback ends a run");
  v("files_to_copy", files_to_copy, "files that are copied into the folder snapshot of the run");
  v("loggers", loggers,
    "logger plugins, which receive the values of metrics.jsonl, the configuration and examples of "
    "validations: a map with a name and its options, or a list of them",
    "logger");
  v("log_examples", log_examples,
    "number of answered examples of each validation set whose audio, spectrograms and texts the "
    "loggers receive; see trainer.limit_val_generate_batches",
    at_least(0));
  v("log_histograms", log_histograms,
    "give the loggers a histogram of each trained parameter after each validation");
  v("slow_step_s", slow_step_s,
    "seconds after which a step counts as slow: each rank then writes the stacks of its threads, "
    "its "
    "last collectives and the ids of its batch to flight.RANK.json; 0: never",
    at_least(0));
}

std::string ExpManagerBlock::run_folder() const {
  // Without this, "s2s_results/" of NeMo's files would give s2s_results//checkpoints.
  std::string folder = explicit_log_dir.value_or(exp_dir.value_or("runs"));
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (explicit_log_dir) return folder;
  return folder + "/" + name + (version ? "/" + *version : "");
}

bool ExpManagerBlock::needs_version() const {
  return !resume_if_exists && !explicit_log_dir && !version;
}

double CheckpointBlock::interval_s() const {
  if (!train_time_interval) return 0;
  return duration_s("exp_manager.checkpoint_callback_params.train_time_interval",
                    Config::scalar(*train_time_interval, true));
}

double ExpManagerBlock::max_time_s() const {
  if (!max_time_per_run) return 0;
  return duration_s("exp_manager.max_time_per_run", Config::scalar(*max_time_per_run, true));
}

double duration_s(const std::string& path, const Config& node) {
  std::array<int, 4> parts{};
  char rest = 0;
  const int read = std::sscanf(node.as_string(path).c_str(), "%d:%d:%d:%d%c", &parts[0], &parts[1],
                               &parts[2], &parts[3], &rest);
  const bool negative = std::any_of(parts.begin(), parts.end(), [](int part) { return part < 0; });
  if (read != 4 || negative) throw duration_error(path, node);
  return ((parts[0] * 24.0 + parts[1]) * 60 + parts[2]) * 60 + parts[3];
}

void MeshBlock::visit(OptionVisitor& v) {
  v("data_parallel_size", data_parallel_size, "number of ranks on the data axis; null: 1",
    at_least(1));
  v("tensor_parallel_size", tensor_parallel_size, "number of ranks on the tensor axis; null: 1",
    at_least(1));
  v("sequence_parallel", sequence_parallel,
    "split activations along positions between the blocks (sequence parallelism)");
  v("replicate_kv_heads", replicate_kv_heads,
    "replicate key/value heads if there are more tensor ranks than heads");
  v("zero_stage", zero_stage,
    "what the data axis shards: 1: optimizer state, 2: also gradients, 3: also parameters",
    between(1, 3));
}

void LrScaleBlock::visit(OptionVisitor& v) {
  v("params", params, "regular expression, matched at the start of parameter names", required());
  v("scale", scale, "learning rate multiplier", at_least(0));
}

void OptimizerBlock::visit(OptionVisitor& v) {
  v("lr_scales", lr_scales, "learning rate multipliers for selected parameters");
}

void ModelBlock::visit(OptionVisitor& v) {
  v("type", type, "name of the model component", required());
  v("freeze_params", freeze_params, "patterns of parameters that are frozen");
  v("prevent_freeze_params", prevent_freeze_params,
    "patterns of parameters that stay trainable, even if freeze_params matches");
  v("pretrained_weights", pretrained_weights,
    "false: read only the sizes from the files at a part's path, and initialize its weights "
    "randomly");
  v("lora", lora,
    "low-rank adapters (LoRA) in the language model; its other parameters are frozen");
  v("pretrained_perception_from_s2s", pretrained_perception_from_s2s,
    "checkpoint of any model whose perception this one starts from");
  v("pretrained_s2s_model", pretrained_s2s_model,
    "checkpoint that gives initial values to every tensor that it has with the same name and "
    "shape");
  v("init_from_checkpoint", init_from_checkpoint,
    "the same from a training checkpoint; its step and optimizer are not read");
  v("tokenizer", tokenizer, "name of the tokenizer, and its options", "tokenizer");
  v("optimizer", optimizer, "name of the optimizer, and its options", "optimizer");
  v("lr_scheduler", lr_scheduler,
    "name of the schedule, and its options; null: the optimizer's learning rate in all steps",
    "schedule");
  v("scoring_asr", scoring_asr,
    "name of the speech recognizer that transcribes answers for evaluation, and its options",
    "scorer");
  v("metrics", metrics,
    "metric plugins for the texts of answers: a map with a name and its options, or a list of them",
    "metric");
}

std::vector<std::string> ModelBlock::frozen() const {
  std::vector<std::string> patterns = freeze_params;
  if (lora.r > 0) patterns.emplace_back("^llm\\..+$");
  return patterns;
}

std::vector<std::string> ModelBlock::kept() const {
  std::vector<std::string> patterns = prevent_freeze_params;
  if (lora.r > 0) patterns.emplace_back("^.+\\.lora_.+$");
  return patterns;
}

std::vector<ValidationSet> validation_sets(const Config& config) {
  const Config* block = config.find_path("data.validation_ds");
  if (block == nullptr || block->is_null()) return {};
  if (!block->is_map()) throw type_error("data.validation_ds", *block, "a map of options");
  const Config* datasets = block->find("datasets");
  if (datasets == nullptr || datasets->is_null()) return {};
  const std::string path = "data.validation_ds.datasets";
  if (!datasets->is_map()) throw type_error(path, *datasets, "a map of named data sets");
  Config inherited = *block;
  inherited.erase("datasets");
  // The training's data source is the default.
  const Config* kind_of_training = config.find_path("data.train_ds.name");
  if (inherited.find("name") == nullptr && kind_of_training != nullptr) {
    inherited["name"] = *kind_of_training;
  }
  std::vector<ValidationSet> sets;
  for (const auto& [name, own] : datasets->entries()) {
    if (!own.is_map() && !own.is_null()) {
      throw type_error(path + "." + name, own, "a map of options");
    }
    Config merged = inherited;
    merged.set_origin(own.origin());
    for (const auto& [key, value] : own.entries()) merged[key] = value;
    sets.push_back({name, std::move(merged)});
  }
  return sets;
}

void end_validation_set(Config& set, const OptionTable& table) {
  const bool can_repeat = std::any_of(table.begin(), table.end(),
                                      [](const OptionRow& row) { return row.name == "repeat"; });
  if (!can_repeat || set.find("repeat") != nullptr) return;
  Origin origin;
  origin.source = "default of validation sets";
  Config no = Config::scalar("false");
  no.set_origin(std::move(origin));
  set["repeat"] = std::move(no);
}

}  // namespace s2s
