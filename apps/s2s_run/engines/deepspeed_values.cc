#include "s2s_run/engines/deepspeed_values.h"

#include <fmt/format.h>

#include <array>

#include "base/number_text.h"
#include "base/text.h"
#include "config/config_errors.h"
#include "config/yaml_reader.h"

namespace s2s::run {
namespace {

constexpr const char* kBlock = "trainer.strategy.";

std::string text_at(const EngineFile& file, std::string_view path) {
  const Config* const found = file.find(path);
  return found != nullptr && found->is_scalar() ? lower(found->text()) : "";
}

double number_at(const EngineFile& file, std::string_view path, double absent) {
  return read_number<double>(text_at(file, path)).value_or(absent);
}

int64_t stage_of(const EngineFile& file) {
  return static_cast<int64_t>(number_at(file, "zero_optimization.stage", 0));
}

bool is_half(const EngineFile& file) {
  return file.is_true("bf16.enabled") || file.is_true("bfloat16.enabled") ||
         file.is_true("fp16.enabled");
}

/// DEVICE of offload_optimizer or offload_param -> whether it is the host.
bool is_on_host(EngineFile& file, const char* key, const Config& value) {
  const std::string device = lower(value.text());
  if (device == "cpu") return true;
  if (device == "nvme") {
    file.refuse(key, value, "only host memory is used; write cpu");
  } else if (device != "none") {
    file.findings.add(choice_error(file.path_of(key), value, {"none", "cpu", "nvme"}));
  }
  return false;
}

/// The file's bf16 and fp16 switches against trainer.precision.
void read_half(EngineFile& file, const Config& value, const char* key, const char* precision) {
  if (is_switched_on(value)) return file.set_precision(precision, value);
  const Config* const ours = file.config.find_path("trainer.precision");
  const bool is_on_here = ours != nullptr && ours->is_scalar() &&
                          ours->text().starts_with(precision[0] == 'b' ? "bf16" : "16");
  if (is_on_here) {
    file.refuse(key, value, "trainer.precision is " + ours->text() + "; write \"auto\" or true");
  }
}

/// save_dir of a monitor: output_path/job_name.
void set_folder(const EngineFile& file, const std::string& monitor, Config& logger) {
  const Config* const path = file.find(monitor + ".output_path");
  if (path == nullptr || !path->is_scalar() || path->text().empty()) return;
  const Config* const job = file.find(monitor + ".job_name");
  const bool has_job = job != nullptr && job->is_scalar() && !job->text().empty();
  logger["save_dir"] = Config::scalar(path->text() + (has_job ? "/" + job->text() : ""), true);
}

Config named(const char* name) {
  Config component = Config::map();
  component["name"] = Config::scalar(name);
  return component;
}

struct DeepSpeedSchedule {
  std::string_view theirs;
  const char* ours;
};
constexpr std::array kSchedules = {
    DeepSpeedSchedule{"WarmupLR", "warmup_lr"},
    DeepSpeedSchedule{"WarmupDecayLR", "warmup_decay_lr"},
    DeepSpeedSchedule{"WarmupCosineLR", "warmup_cosine_lr"},
    DeepSpeedSchedule{"OneCycle", "one_cycle_lr"},
    DeepSpeedSchedule{"LRRangeTest", "lr_range_test"},
    // Names of transformers' schedules, which other generators write.
    DeepSpeedSchedule{"cosine", "warmup_cosine_lr"},
    DeepSpeedSchedule{"linear", "warmup_decay_lr"},
};

constexpr const char* kSchedule = "model.lr_scheduler.";

void set_total_steps(EngineFile& file, const Config& from) {
  const Config* const steps = file.config.find_path("trainer.max_steps");
  if (steps != nullptr) file.set(std::string(kSchedule) + "total_num_steps", *steps, from);
}

/// transformers' cosine and linear rise linearly, and end with the run.
void finish_transformers_schedule(EngineFile& file, const Config& type) {
  file.set_default(std::string(kSchedule) + "warmup_type", "linear", type);
  if (file.find("scheduler.params.total_num_steps") == nullptr) set_total_steps(file, type);
}

/// The momentum of OneCycle: AdamW's betas stay.
bool is_of_momentum(const std::string& key) {
  return key.starts_with("cycle_m") && key.ends_with("_mom");
}

void read_schedule_option(EngineFile& file, const std::string& key, const Config& value,
                          const std::string& ours) {
  const std::string path = "scheduler.params." + key;
  const bool is_auto = value.is_scalar() && value.text() == "auto";
  if (is_auto && key == "total_num_steps") return set_total_steps(file, value);
  if (is_auto && key == "warmup_num_steps") {
    return file.refuse(path, value, "no key here has this number; write it");
  }
  if (is_auto || value.is_null() || key == "last_batch_iteration") return;
  if (key == "cycle_momentum") return;  // read_scheduler asked for it
  if (is_of_momentum(key) || key == "decay_mom_rate") {
    return file.no_effect(path, value, "the momentum stays");
  }
  const bool has_ratios = ours == "warmup_cosine_lr";
  if (has_ratios && key == "warmup_min_lr" && value.is_scalar() &&
      read_number<double>(value.text()) == 0.0) {
    return;  // cosine begins at 0
  }
  if (has_ratios && key == "warmup_max_lr") {  // the optimizer's rate is the highest one
    return file.set("model.optimizer.lr", value, value);
  }
  file.set(kSchedule + key, value, value);
}

}  // namespace

void read_later(EngineFile&, const Config&) {}

void read_micro_batch(EngineFile& file, const Config& value) {
  for (const char* const key : {"batch_duration", "bucket_batch_size", "batch_tokens"}) {
    const Config* const ours = file.config.find_path("data.train_ds." + std::string(key));
    if (ours == nullptr || ours->is_null()) continue;
    return file.no_effect("train_micro_batch_size_per_gpu", value,
                          "data.train_ds." + std::string(key) + " says how large batches are");
  }
  file.set("data.train_ds.batch_size", value, value);
}

void read_clipping(EngineFile& file, const Config& value) {
  const char* const path = "trainer.gradient_clip_val";
  const bool is_off = value.is_scalar() && read_number<double>(value.text()) == 0.0;
  const Config* const ours = file.config.find_path(path);
  if (is_off && (ours == nullptr || ours->is_null())) return;
  file.set(path, value, value);
}

void read_print(EngineFile& file, const Config& value) {
  file.set_default("trainer.log_every_n_steps", value.text(), value);
}

void read_reduce_dtype(EngineFile& file, const Config& value) {
  const std::string type = lower(value.text());
  const char* const ours = type == "fp32"                      ? "float32"
                           : type == "fp16"                    ? "float16"
                           : type == "bf16" || type == "bfp16" ? "bfloat16"
                                                               : nullptr;
  if (ours == nullptr) {
    return file.findings.add(choice_error(file.path_of("communication_data_type"), value,
                                          {"fp32", "fp16", "bf16", "bfp16"}));
  }
  file.set(std::string(kBlock) + "reduce_dtype", ours, value);
}

void read_stage(EngineFile& file, const Config& value) {
  const auto stage = value.is_scalar() ? read_number<int64_t>(value.text()) : std::nullopt;
  if (!stage || *stage < 0 || *stage > 3) {
    return file.findings.add(
        choice_error(file.path_of("zero_optimization.stage"), value, {"0", "1", "2", "3"}));
  }
  if (*stage > 0) file.set(std::string(kBlock) + "zero_stage", value, value);
}

void read_bucket(EngineFile& file, const Config& value) {
  const auto elements = value.is_scalar() ? read_number<double>(value.text()) : std::nullopt;
  if (!elements || *elements < 0) {
    return file.findings.add(type_error(file.path_of("zero_optimization.reduce_bucket_size"), value,
                                        "a number of elements, or auto"));
  }
  if (stage_of(file) == 3) {
    return file.no_effect("zero_optimization.reduce_bucket_size", value,
                          "gradients of a unit are reduced together in stage 3");
  }
  const double mib = *elements * (is_half(file) ? 2 : 4) / (1024 * 1024);
  file.set_default(std::string(kBlock) + "bucket_cap_mb", fmt::format("{}", mib), value);
}

void read_offload_optimizer(EngineFile& file, const Config& value) {
  const bool is_host = is_on_host(file, "zero_optimization.offload_optimizer.device", value);
  // offload: params includes the optimizer's state.
  const bool is_included = text_at(file, "zero_optimization.offload_param.device") == "cpu";
  if (is_host && !is_included) file.set(std::string(kBlock) + "offload", "optimizer", value);
}

void read_offload_param(EngineFile& file, const Config& value) {
  const bool is_host = is_on_host(file, "zero_optimization.offload_param.device", value);
  if (is_host) file.set(std::string(kBlock) + "offload", "params", value);
}

void read_cpu_offload(EngineFile& file, const Config& value) {
  const bool is_included = file.is_true("zero_optimization.cpu_offload_param");
  if (is_switched_on(value) && !is_included) {
    file.set(std::string(kBlock) + "offload", "optimizer", value);
  }
}

void read_cpu_offload_param(EngineFile& file, const Config& value) {
  if (is_switched_on(value)) file.set(std::string(kBlock) + "offload", "params", value);
}

void read_hpz(EngineFile& file, const Config& value) {
  const auto size = value.is_scalar() ? read_number<int64_t>(value.text()) : std::nullopt;
  if (size && *size <= 1) return;
  file.set(std::string(kBlock) + "reshard_after_forward", value, value);
}

void read_mics(EngineFile& file, const Config& value) {
  const auto size = value.is_scalar() ? read_number<int64_t>(value.text()) : std::nullopt;
  if (size && *size <= 0) return;
  const char* const key = "zero_optimization.mics_shard_size";
  const int64_t ranks = known_data_ranks(file.config);
  if (!size || ranks == 0 || ranks % *size != 0) {
    return file.refuse(key, value,
                       ranks == 0 ? "the number of ranks must be known for it; write "
                                    "trainer.devices and trainer.num_nodes"
                                  : fmt::format("expected a divisor of the {} data ranks", ranks));
  }
  file.set(std::string(kBlock) + "replicate_size", std::to_string(ranks / *size), value);
}

void read_bf16(EngineFile& file, const Config& value) {
  if (file.is_true("bf16.bf16_master_weights_and_grads")) return;
  if (is_switched_on(value) && file.is_true("fp16.enabled")) {
    return file.refuse("bf16.enabled", value, "fp16.enabled is true, too; switch one of them off");
  }
  read_half(file, value, "bf16.enabled", "bf16-mixed");
}

void read_bf16_masters(EngineFile& file, const Config& value) {
  if (!is_switched_on(value)) return;
  const char* const path = "trainer.precision";
  if (file.is_true("bf16.enabled")) return file.set(path, "bf16-true", value);
  file.refuse("bf16.bf16_master_weights_and_grads", value, "bf16.enabled is not true; write it");
}

void read_fp16(EngineFile& file, const Config& value) {
  read_half(file, value, "fp16.enabled", "16-mixed");
}

void read_loss_scale(EngineFile& file, const Config& value) {
  if (!file.is_true("fp16.enabled")) return;
  if (value.is_scalar() && read_number<double>(value.text()) == 0.0) return;
  file.refuse("fp16.loss_scale", value, "a fixed loss scale is not implemented; write 0");
}

void read_scheduler(EngineFile& file, const Config& value) {
  std::vector<std::string> known;
  std::string name;
  for (const DeepSpeedSchedule& schedule : kSchedules) {
    known.emplace_back(schedule.theirs);
    if (schedule.theirs == value.text()) name = schedule.ours;
  }
  if (name.empty()) {
    return file.findings.add(choice_error(file.path_of("scheduler.type"), value, known));
  }
  const Config* const momentum = file.find("scheduler.params.cycle_momentum");
  if (name == "one_cycle_lr" && (momentum == nullptr || is_switched_on(*momentum))) {
    return file.refuse("scheduler.type", value,
                       "the momentum is not changed here; write cycle_momentum: false in params");
  }
  file.set("model.lr_scheduler.name", name, value);
  const Config* const params = file.find("scheduler.params");
  const bool is_another = file.config.find_path("model.lr_scheduler.name")->text() != name;
  if (is_another || params == nullptr) return;  // the name is a finding already
  for (const auto& [key, option] : params->entries()) {
    read_schedule_option(file, key, option, name);
  }
  if (value.text() == "cosine" || value.text() == "linear") {
    finish_transformers_schedule(file, value);
  } else if (name == "warmup_decay_lr" && params->find("warmup_max_lr") == nullptr) {
    file.set_default("model.lr_scheduler.warmup_max_lr", "0.001", value);  // DeepSpeed's default
  }
}

void read_recompute(EngineFile& file, const Config& value) {
  const Config* const ours = file.config.find_path("trainer.strategy.activation_checkpointing");
  const bool is_on_here = ours != nullptr && ours->is_scalar() && ours->text() != "none";
  if (!is_switched_on(value) || is_on_here) return;
  file.set("trainer.strategy.activation_checkpointing", "full", value);
}

void read_tensorboard(EngineFile& file, const Config& value) {
  if (!is_switched_on(value)) return;
  Config logger = named("tensorboard");
  set_folder(file, "tensorboard", logger);
  file.add_logger(std::move(logger), value);
}

void read_csv(EngineFile& file, const Config& value) {
  if (!is_switched_on(value)) return;
  Config logger = named("csv");
  set_folder(file, "csv_monitor", logger);
  file.add_logger(std::move(logger), value);
}

void read_wandb(EngineFile& file, const Config& value) {
  if (!is_switched_on(value)) return;
  Config logger = named("wandb");
  for (const auto& [theirs, ours] : {std::pair("project", "project"), std::pair("group", "group"),
                                     std::pair("team", "entity")}) {
    const Config* const found = file.find("wandb." + std::string(theirs));
    if (found != nullptr && !found->is_null()) logger[ours] = *found;
  }
  file.add_logger(std::move(logger), value);
}

void read_sequence_parallel(EngineFile& file, const Config& value) {
  if (value.is_scalar() && read_number<int64_t>(value.text()) == 1) return;
  file.refuse("sequence_parallel_size", value, "write trainer.strategy: {name: model_parallel}");
}

void read_tensor_parallel(EngineFile& file, const Config& value) {
  const auto size = value.is_scalar() ? read_number<int64_t>(value.text()) : std::nullopt;
  if (size && *size <= 1) return;
  file.set("trainer.strategy.tensor_parallel_size", value, value);
}

void finish_deepspeed(EngineFile& file) {
  finish_optimizer(file);
  const bool is_bf16 = file.is_true("bf16.enabled") || file.is_true("bfloat16.enabled");
  const Config* const precision = file.config.find_path("trainer.precision");
  if (is_bf16 && precision != nullptr && precision->text() != "bf16-true") {
    const Config* const half = file.find("bf16.enabled");
    file.set_default("trainer.strategy.param_dtype", "bfloat16",
                     half != nullptr ? *half : *file.find("bfloat16.enabled"));
  }
}

}  // namespace s2s::run
