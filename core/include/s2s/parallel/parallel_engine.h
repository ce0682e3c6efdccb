#pragma once
// The engine behind the strategies that split a model (core/docs/guides/parallelism.md): strategies
// say what they want in one struct.

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

/// What is computed again in the backward pass instead of being kept.
struct RecomputeSettings {
  enum class What { kNone, kBlocks, kNormsAndMlps };
  What what = What::kNone;
  int64_t every = 1;  // of the blocks every n-th, from the first on
};

/// What lives in the host's memory between its uses.
enum class Offload { kNothing, kOptimizer, kParameters };

/// What the engine does with a model.
struct EngineSettings {
  MeshShape mesh;
  /// What the shard axis splits: 1 optimizer state; 2 gradients, too; 3 parameters, too.
  int zero_stage = 3;
  /// Stage 3: units are freed after their forward and gathered again for their backward.
  bool reshard_after_forward = true;
  /// Above 1: freed units are kept by groups of so many neighboring ranks, each its part, and
  /// gathered among them for the backward.
  int64_t reshard_group_size = 0;
  /// Gradients are reduced after each micro-batch (1), at the end of the step (0), or where stage
  /// 2 and 3 keep them split anyway (none).
  std::optional<bool> reduce_every_micro_batch;
  std::optional<at::ScalarType> param_dtype;   // of gathered parameters; none: their own
  std::optional<at::ScalarType> reduce_dtype;  // of gradients on their way; none: as gathered
  std::optional<at::ScalarType> output_dtype;  // of what units return; none: as they compute it
  bool replicate_frozen = false;               // frozen parameters stay whole on every rank
  int64_t bucket_bytes = 25 << 20;  // units that stay whole are reduced together up to this size
  RecomputeSettings recompute;
  Offload offload = Offload::kNothing;
};

/// The engine, for the ranks of `context.world` (null: one process).
/// Errors: [comm/mesh], and at `attach` those of the plan's check.
std::unique_ptr<ParallelStrategy> make_parallel_engine(const EngineSettings& settings,
                                                       const ProcessContext& context);

/// Options that strategies on the engine share.
struct EngineOptions {
  std::string activation_checkpointing = "none";
  int64_t activation_checkpointing_every = 1;
  std::string offload = "none";
  std::string param_dtype = "same", reduce_dtype = "same", output_dtype = "same";
  bool replicate_frozen = false;
  double bucket_cap_mb = 25;
  void visit(OptionVisitor& v);
  /// Writes these options over what `settings` has.
  void apply(EngineSettings& settings) const;
};

/// Options of strategies that split a model on the shard axis, too.
struct ShardingOptions {
  int64_t zero_stage = 3;
  std::string data_parallel_size = "auto";
  int64_t replicate_size = 1;
  std::string reshard_after_forward = "always";
  std::string gradient_sync = "auto";
  EngineOptions engine;
  void visit(OptionVisitor& v);
  /// The settings for `num_ranks` ranks, `tensor_size` of which share a sequence. path: of the
  /// options, for messages. Errors: [config/type], [comm/mesh].
  EngineSettings settings(int64_t num_ranks, int64_t tensor_size, const std::string& path) const;
};

/// "auto" (none) or a number of ranks. Errors: [config/type].
std::optional<int64_t> parse_axis_size(const std::string& text, const std::string& path);

}  // namespace s2s
