#pragma once
// What follows from a layout's settings: the engine does so, and the plan counts on it.

#include "s2s/parallel/parallel_engine.h"

namespace s2s {

/// Units come and go: most of each is with other ranks, or in the host's memory.
inline bool frees_units(const EngineSettings& settings) {
  return settings.zero_stage >= 3 &&
         (settings.mesh.shard > 1 || settings.offload == Offload::kParameters);
}

/// A rank keeps sums of gradients of its part only.
inline bool splits_gradients(const EngineSettings& settings) {
  return settings.zero_stage >= 2 && (settings.mesh.shard > 1 || frees_units(settings));
}

/// Gradients are reduced after each micro-batch, not only after a step's last one.
inline bool reduces_every_micro_batch(const EngineSettings& settings) {
  return settings.reduce_every_micro_batch.value_or(splits_gradients(settings));
}

/// A parameter that every rank of the shard axis has whole.
inline bool is_replicated(const EngineSettings& settings, bool is_trained) {
  return settings.replicate_frozen && !is_trained;
}

/// A rank's part of a parameter lives in the host's memory.
inline bool lives_on_host(const EngineSettings& settings, bool is_trained) {
  return settings.offload == Offload::kParameters ||
         (settings.offload == Offload::kOptimizer && is_trained);
}

/// Neighbors that keep freed units between forward and backward; 0: nobody does.
inline int64_t near_group_size(const EngineSettings& settings) {
  const int64_t size = settings.reshard_group_size, shard = settings.mesh.shard;
  return settings.reshard_after_forward && size > 1 && size < shard && shard % size == 0 ? size : 0;
}

}  // namespace s2s
