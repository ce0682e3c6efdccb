#pragma once
// Values of DeepSpeed's files that do not map to a single key.

#include "keys/foreign_file.h"

namespace s2s::interop {

/// For values that another row or a finish function reads.
void read_later(ForeignFile& file, const Config& value);

void read_micro_batch(ForeignFile& file, const Config& value);
void read_clipping(ForeignFile& file, const Config& value);
void read_print(ForeignFile& file, const Config& value);
void read_reduce_dtype(ForeignFile& file, const Config& value);
void read_stage(ForeignFile& file, const Config& value);
void read_bucket(ForeignFile& file, const Config& value);
void read_offload_optimizer(ForeignFile& file, const Config& value);
void read_offload_param(ForeignFile& file, const Config& value);
void read_cpu_offload(ForeignFile& file, const Config& value);
void read_cpu_offload_param(ForeignFile& file, const Config& value);
void read_hpz(ForeignFile& file, const Config& value);
void read_mics(ForeignFile& file, const Config& value);
void read_bf16(ForeignFile& file, const Config& value);
void read_bf16_masters(ForeignFile& file, const Config& value);
void read_fp16(ForeignFile& file, const Config& value);
void read_loss_scale(ForeignFile& file, const Config& value);
void read_optimizer(ForeignFile& file, const Config& value);
void read_adam_w_mode(ForeignFile& file, const Config& value);
void read_optimizer_rate(ForeignFile& file, const Config& value);
void read_optimizer_betas(ForeignFile& file, const Config& value);
void read_optimizer_eps(ForeignFile& file, const Config& value);
/// Sets DeepSpeed's defaults of options that the file leaves out.
void finish_optimizer(ForeignFile& file);
void read_scheduler(ForeignFile& file, const Config& value);
/// Notes that options of a schedule without a name have no effect.
void finish_scheduler(ForeignFile& file);
void read_recompute(ForeignFile& file, const Config& value);
void read_tensorboard(ForeignFile& file, const Config& value);
void read_wandb(ForeignFile& file, const Config& value);
void read_csv(ForeignFile& file, const Config& value);
void read_sequence_parallel(ForeignFile& file, const Config& value);
void read_tensor_parallel(ForeignFile& file, const Config& value);

/// Handles missing keys: the optimizer's defaults, param_dtype, the strategy's name.
void finish_deepspeed(ForeignFile& file);

ForeignKeys deepspeed_keys();

/// Uses train_batch_size = micro-batch * accumulation * data ranks to compute one from the others.
/// Errors: [config/global-batch], added to the findings.
void read_global_batch(ForeignFile& file);

/// Data ranks of the configuration or of this process's launcher; 0 if unknown.
int64_t known_data_ranks(const Config& config);

}  // namespace s2s::interop
