#pragma once
// The values of DeepSpeed's files that are more than a key of ours.

#include "s2s_run/engines/engine_file.h"

namespace s2s::run {

/// For values that another row or the finish reads.
void read_later(EngineFile& file, const Config& value);

void read_micro_batch(EngineFile& file, const Config& value);
void read_clipping(EngineFile& file, const Config& value);
void read_print(EngineFile& file, const Config& value);
void read_reduce_dtype(EngineFile& file, const Config& value);
void read_stage(EngineFile& file, const Config& value);
void read_bucket(EngineFile& file, const Config& value);
void read_offload_optimizer(EngineFile& file, const Config& value);
void read_offload_param(EngineFile& file, const Config& value);
void read_cpu_offload(EngineFile& file, const Config& value);
void read_cpu_offload_param(EngineFile& file, const Config& value);
void read_hpz(EngineFile& file, const Config& value);
void read_mics(EngineFile& file, const Config& value);
void read_bf16(EngineFile& file, const Config& value);
void read_bf16_masters(EngineFile& file, const Config& value);
void read_fp16(EngineFile& file, const Config& value);
void read_loss_scale(EngineFile& file, const Config& value);
void read_optimizer(EngineFile& file, const Config& value);
void read_adam_w_mode(EngineFile& file, const Config& value);
void read_optimizer_rate(EngineFile& file, const Config& value);
void read_optimizer_betas(EngineFile& file, const Config& value);
void read_optimizer_eps(EngineFile& file, const Config& value);
/// DeepSpeed's defaults of the options that the file leaves out.
void finish_optimizer(EngineFile& file);
void read_scheduler(EngineFile& file, const Config& value);
/// Says that options of a schedule without a name have no effect.
void finish_scheduler(EngineFile& file);
void read_recompute(EngineFile& file, const Config& value);
void read_tensorboard(EngineFile& file, const Config& value);
void read_wandb(EngineFile& file, const Config& value);
void read_csv(EngineFile& file, const Config& value);
void read_sequence_parallel(EngineFile& file, const Config& value);
void read_tensor_parallel(EngineFile& file, const Config& value);

/// What the absence of keys means: the optimizer's defaults, param_dtype, the strategy's name.
void finish_deepspeed(EngineFile& file);

}  // namespace s2s::run
