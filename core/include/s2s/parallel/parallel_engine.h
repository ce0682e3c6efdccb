#pragma once
// The engine of the strategies that shard a model (core/docs/guides/parallelism.md). A strategy
// configures it with one struct.

#include <ATen/core/ScalarType.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/kinds/communicator.h"
#include "s2s/kinds/strategy.h"
#include "s2s/options.h"
#include "s2s/registry.h"

namespace s2s {

/// Activation checkpointing: what the backward pass recomputes.
struct RecomputeSettings {
  enum class What { kNone, kBlocks, kNormsAndMlps };
  What what = What::kNone;
  int64_t every = 1;  // recompute every n-th block, starting with the first
};

/// What is offloaded to CPU memory between uses.
enum class Offload { kNothing, kOptimizer, kParameters };

/// Settings of the engine.
struct EngineSettings {
  MeshShape mesh;
  /// What the shard axis splits: 1 optimizer state; 2 also gradients; 3 also parameters.
  int zero_stage = 3;
  /// Stage 3: units are resharded after their forward and unsharded again for their backward.
  bool reshard_after_forward = true;
  /// Above 1: resharded units stay sharded within groups of this many neighboring ranks, which
  /// unshard them for the backward.
  int64_t reshard_group_size = 0;
  /// Reduce gradients after each micro-batch (1) or at the end of the step (0). None: after each
  /// micro-batch for stages 2 and 3, which keep gradients sharded, else at the end.
  std::optional<bool> reduce_every_micro_batch;
  std::optional<at::ScalarType> param_dtype;   // of unsharded parameters; none: their own
  std::optional<at::ScalarType> reduce_dtype;  // of gradients in communication; none: param_dtype
  std::optional<at::ScalarType> output_dtype;  // of the outputs of units; none: unchanged
  bool replicate_frozen = false;               // frozen parameters are not sharded
  int64_t bucket_bytes = 25 << 20;  // unsharded units are reduced in buckets of this size
  RecomputeSettings recompute;
  Offload offload = Offload::kNothing;
};

/// Creates the engine for the ranks of `context.world` (null: one process).
/// Errors: [comm/mesh], and at `attach` those of the plan's check.
std::unique_ptr<ParallelStrategy> make_parallel_engine(const EngineSettings& settings,
                                                       const ProcessContext& context);

/// Options that all strategies on the engine share.
struct EngineOptions {
  std::string activation_checkpointing = "none";
  int64_t activation_checkpointing_every = 1;
  std::string offload = "none";
  std::string param_dtype = "same", reduce_dtype = "same", output_dtype = "same";
  bool replicate_frozen = false;
  double bucket_cap_mb = 25;
  void visit(OptionVisitor& v);
  /// Writes these options into `settings`.
  void apply(EngineSettings& settings) const;
};

/// Options of strategies that also use the shard axis.
struct ShardingOptions {
  int64_t zero_stage = 3;
  std::string data_parallel_size = "auto";
  int64_t replicate_size = 1;
  std::string reshard_after_forward = "always";
  std::string gradient_sync = "auto";
  EngineOptions engine;
  void visit(OptionVisitor& v);
  /// The settings for `num_ranks` ranks with a tensor axis of `tensor_size`. path: of the options,
  /// for messages. Errors: [config/type], [comm/mesh].
  EngineSettings settings(int64_t num_ranks, int64_t tensor_size, const std::string& path) const;
};

/// Parses "auto" (empty result) or a number of ranks. Errors: [config/type].
std::optional<int64_t> parse_axis_size(const std::string& text, const std::string& path);

}  // namespace s2s
