#pragma once
// Reasons why keys of other engines have no effect here or must be off. Several tables use them.

namespace s2s::interop::why {

constexpr const char* kAlways = "this is always done";
constexpr const char* kOwnSteps = "gradients are summed over all ranks in float32 or reduce_dtype";
constexpr const char* kPrefetch = "the next unit of the plan is always prefetched";
constexpr const char* kTwoUnits = "at most two units of the plan are unsharded at once";
constexpr const char* kWholeUnits =
    "a unit of the plan is gathered whole, small parameters included";
constexpr const char* kParts =
    "each rank always writes its shard, and any layout can read the shards; s2s-run checkpoint "
    "export writes whole weights";
constexpr const char* kExport = "s2s-run checkpoint export writes whole weights";
constexpr const char* kNvme = "this concerns NVMe, which is not used";
constexpr const char* kScale =
    "the loss scale starts at 65536, doubles after 2000 good steps and halves after each overflow, "
    "as torch.amp.GradScaler's";
constexpr const char* kUnscaled = "losses in bfloat16 are not scaled";
constexpr const char* kHostAdam = "LibTorch's fused AdamW uses the threads of the process";
constexpr const char* kAnyOptimizer = "every optimizer is a plugin";
constexpr const char* kMeasured = "metrics.jsonl always has times and memory of each step";
constexpr const char* kNot = "this is not implemented; remove it or switch it off";
constexpr const char* kNoQuantized =
    "communication is not quantized; remove the key, or write reduce_dtype: bfloat16 in "
    "trainer.strategy";
constexpr const char* kData = "data.train_ds chooses and orders the data; remove it";
constexpr const char* kKernel = "the optimizer always uses the fastest implementation";
constexpr const char* kWholeModel = "modules are not replaced; remove the key";
constexpr const char* kRecomputed = "this describes memory of DeepSpeed's recomputation";
constexpr const char* kPlan = "the model's plan splits its layers (s2s-run plan)";
constexpr const char* kFmengine = "FMEngine does not read it either";
constexpr const char* kUnits = "the model's plan defines the units (s2s-run plan)";
constexpr const char* kAhead = "the next unit is always prefetched";
constexpr const char* kShards = "each rank reads only its shards of the weights";
constexpr const char* kXla = "XLA is not used; remove it";
constexpr const char* kLauncher = "the launcher decides (s2s-run launch)";

}  // namespace s2s::interop::why
