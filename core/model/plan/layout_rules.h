#pragma once
// What the settings of a layout imply. The engine acts on it, and the plan counts with it.

#include <cstdint>

#include "s2s/parallel/parallel_engine.h"

namespace s2s {

/// Bytes of the elements that a layout stores and moves.
struct ElementBytes {
  int64_t stored = 4;    // a rank's part of a parameter, its gradient, each number of the optimizer
  int64_t gathered = 4;  // parameters as they are whole
  int64_t reduced = 4;   // gradients on their way
  int64_t product = 4;   // what products take and make
  int64_t stream = 4;    // what blocks hand on
};

/// Units are sharded or offloaded: each is gathered for use and freed afterwards.
inline bool frees_units(const EngineSettings& settings) {
  return settings.zero_stage >= 3 &&
         (settings.mesh.shard > 1 || settings.offload == Offload::kParameters);
}

/// A rank accumulates gradients for its own shard only.
inline bool splits_gradients(const EngineSettings& settings) {
  return settings.zero_stage >= 2 && (settings.mesh.shard > 1 || frees_units(settings));
}

/// Gradients are reduced after each micro-batch, not only after a step's last one.
inline bool reduces_every_micro_batch(const EngineSettings& settings) {
  return settings.reduce_every_micro_batch.value_or(splits_gradients(settings));
}

/// Every rank of the shard axis holds the whole parameter.
inline bool is_replicated(const EngineSettings& settings, bool is_trained) {
  return settings.replicate_frozen && !is_trained;
}

/// A rank's shard of a parameter is in host memory.
inline bool lives_on_host(const EngineSettings& settings, bool is_trained) {
  return settings.offload == Offload::kParameters ||
         (settings.offload == Offload::kOptimizer && is_trained);
}

/// Size of the groups of neighbor ranks that keep freed units between forward and backward; 0: no
/// rank does.
inline int64_t near_group_size(const EngineSettings& settings) {
  const int64_t size = settings.reshard_group_size, shard = settings.mesh.shard;
  return settings.reshard_after_forward && size > 1 && size < shard && shard % size == 0 ? size : 0;
}

}  // namespace s2s
