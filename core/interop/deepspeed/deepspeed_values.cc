#include "deepspeed/deepspeed_values.h"

#include <fmt/format.h>

#include <array>

#include "base/number_text.h"
#include "base/text.h"
#include "config/config_errors.h"

namespace s2s::interop {
namespace {

constexpr const char* kBlock = "trainer.strategy.";

std::string text_at(const ForeignFile& file, std::string_view path) {
  const Config* const found = file.find(path);
  return found != nullptr && found->is_scalar() ? lower(found->text()) : "";
}

int64_t stage_of(const ForeignFile& file) {
  const Config* const written = file.find("zero_optimization.stage");
  const auto stage = written == nullptr ? std::nullopt : whole_number(*written);
  if (stage) return *stage;
  const Config* const ours = file.config.find_path("trainer.strategy.zero_stage");
  return ours == nullptr ? 0 : whole_number(*ours).value_or(0);
}

bool is_half(const ForeignFile& file) {
  return file.is_true("bf16.enabled") || file.is_true("bfloat16.enabled") ||
         file.is_true("fp16.enabled");
}

/// DEVICE of offload_optimizer or offload_param -> whether it is the host.
bool is_on_host(ForeignFile& file, const char* key, const Config& value) {
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
void read_half(ForeignFile& file, const Config& value, const char* key, const char* precision) {
  if (is_switched_on(value)) return file.set_precision(precision, value);
  const Config* const ours = file.config.find_path("trainer.precision");
  const bool is_on_here = ours != nullptr && ours->is_scalar() &&
                          ours->text().starts_with(precision[0] == 'b' ? "bf16" : "16");
  if (is_on_here) {
    file.refuse(key, value, "trainer.precision is " + ours->text() + "; write \"auto\" or true");
  }
}

bool is_name(const Config& value) {
  return value.is_scalar() && !value.text().empty() && value.text() != "auto";
}

Config named(const char* name) {
  Config component = Config::map();
  component["name"] = Config::scalar(name);
  return component;
}

/// Adds a logger with the save_dir of a monitor: output_path/job_name.
void add_folder_logger(ForeignFile& file, const Config& value, const char* name,
                       const std::string& monitor) {
  if (!is_switched_on(value)) return;
  Config logger = named(name);
  const Config* const path = file.find(monitor + ".output_path");
  if (path != nullptr && is_name(*path)) {
    const Config* const job = file.find(monitor + ".job_name");
    const bool has_job = job != nullptr && is_name(*job);
    logger["save_dir"] = Config::scalar(path->text() + (has_job ? "/" + job->text() : ""), true);
  }
  file.add_logger(std::move(logger), value);
}

}  // namespace

void read_later(ForeignFile&, const Config&) {}

void read_micro_batch(ForeignFile& file, const Config& value) {
  for (const char* const key : {"batch_duration", "bucket_batch_size", "batch_tokens"}) {
    const Config* const ours = file.config.find_path("data.train_ds." + std::string(key));
    if (ours == nullptr || ours->is_null()) continue;
    return file.no_effect("train_micro_batch_size_per_gpu", value,
                          "data.train_ds." + std::string(key) + " says how large batches are");
  }
  file.set("data.train_ds.batch_size", value, value);
}

void read_clipping(ForeignFile& file, const Config& value) {
  const char* const path = "trainer.gradient_clip_val";
  const bool is_off = value.is_scalar() && read_number<double>(value.text()) == 0.0;
  const Config* const ours = file.config.find_path(path);
  if (is_off && (ours == nullptr || ours->is_null())) return;
  file.set(path, value, value);
}

void read_print(ForeignFile& file, const Config& value) {
  file.set_default("trainer.log_every_n_steps", value.text(), value);
}

void read_reduce_dtype(ForeignFile& file, const Config& value) {
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

void read_stage(ForeignFile& file, const Config& value) {
  file.set_zero_stage("zero_optimization.stage", value);
}

void read_bucket(ForeignFile& file, const Config& value) {
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

void read_offload_optimizer(ForeignFile& file, const Config& value) {
  const bool is_host = is_on_host(file, "zero_optimization.offload_optimizer.device", value);
  // offload: params includes the optimizer's state.
  const bool is_included = text_at(file, "zero_optimization.offload_param.device") == "cpu";
  if (is_host && !is_included) file.set(std::string(kBlock) + "offload", "optimizer", value);
}

void read_offload_param(ForeignFile& file, const Config& value) {
  const bool is_host = is_on_host(file, "zero_optimization.offload_param.device", value);
  if (is_host) file.set(std::string(kBlock) + "offload", "params", value);
}

void read_cpu_offload(ForeignFile& file, const Config& value) {
  const bool is_included = file.is_true("zero_optimization.cpu_offload_param");
  if (is_switched_on(value) && !is_included) {
    file.set(std::string(kBlock) + "offload", "optimizer", value);
  }
}

void read_cpu_offload_param(ForeignFile& file, const Config& value) {
  if (is_switched_on(value)) file.set(std::string(kBlock) + "offload", "params", value);
}

void read_hpz(ForeignFile& file, const Config& value) {
  const auto size = whole_number(value);
  if (size && *size <= 1) return;
  file.set(std::string(kBlock) + "reshard_after_forward", value, value);
}

void read_mics(ForeignFile& file, const Config& value) {
  const auto size = whole_number(value);
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

void read_bf16(ForeignFile& file, const Config& value) {
  if (file.is_true("bf16.bf16_master_weights_and_grads")) return;
  if (is_switched_on(value) && file.is_true("fp16.enabled")) {
    return file.refuse("bf16.enabled", value, "fp16.enabled is true, too; switch one of them off");
  }
  read_half(file, value, "bf16.enabled", "bf16-mixed");
}

void read_bf16_masters(ForeignFile& file, const Config& value) {
  if (!is_switched_on(value)) return;
  const char* const path = "trainer.precision";
  if (file.is_true("bf16.enabled")) return file.set(path, "bf16-true", value);
  file.refuse("bf16.bf16_master_weights_and_grads", value, "bf16.enabled is not true; write it");
}

void read_fp16(ForeignFile& file, const Config& value) {
  read_half(file, value, "fp16.enabled", "16-mixed");
}

void read_loss_scale(ForeignFile& file, const Config& value) {
  if (!file.is_true("fp16.enabled")) return;
  if (value.is_scalar() && read_number<double>(value.text()) == 0.0) return;
  file.refuse("fp16.loss_scale", value, "a fixed loss scale is not implemented; write 0");
}

void read_recompute(ForeignFile& file, const Config& value) {
  const Config* const ours = file.config.find_path("trainer.strategy.activation_checkpointing");
  const bool is_on_here = ours != nullptr && ours->is_scalar() && ours->text() != "none";
  if (!is_switched_on(value) || is_on_here) return;
  file.set("trainer.strategy.activation_checkpointing", "full", value);
}

void read_tensorboard(ForeignFile& file, const Config& value) {
  add_folder_logger(file, value, "tensorboard", "tensorboard");
}

void read_csv(ForeignFile& file, const Config& value) {
  add_folder_logger(file, value, "csv", "csv_monitor");
}

void read_wandb(ForeignFile& file, const Config& value) {
  if (!is_switched_on(value)) return;
  Config logger = named("wandb");
  for (const auto& [theirs, ours] : {std::pair("project", "project"), std::pair("group", "group"),
                                     std::pair("team", "entity")}) {
    const Config* const found = file.find("wandb." + std::string(theirs));
    if (found != nullptr && is_name(*found)) logger[ours] = *found;
  }
  file.add_logger(std::move(logger), value);
}

void read_sequence_parallel(ForeignFile& file, const Config& value) {
  if (whole_number(value) == 1) return;
  file.refuse("sequence_parallel_size", value, "write trainer.strategy: {name: model_parallel}");
}

void read_tensor_parallel(ForeignFile& file, const Config& value) {
  const auto size = whole_number(value);
  if (size && *size <= 1) return;
  file.set("trainer.strategy.tensor_parallel_size", value, value);
}

void finish_deepspeed(ForeignFile& file) {
  finish_optimizer(file);
  finish_scheduler(file);
  const Config* const stage = file.find("zero_optimization.stage");
  if (stage != nullptr && stage->is_scalar() && stage->text() == "auto") {
    file.set_default(std::string(kBlock) + "zero_stage", "2", *stage);  // accelerate's default
  }
  const bool is_bf16 = file.is_true("bf16.enabled") || file.is_true("bfloat16.enabled");
  const Config* const precision = file.config.find_path("trainer.precision");
  if (is_bf16 && precision != nullptr && precision->text() != "bf16-true") {
    const Config* const half = file.find("bf16.enabled");
    file.set_default("trainer.strategy.param_dtype", "bfloat16",
                     half != nullptr ? *half : *file.find("bfloat16.enabled"));
  }
}

}  // namespace s2s::interop
