#pragma once
// What the settings of a layout imply. Used by the engine and by the plan's estimates.

#include <cstdint>

#include "s2s/parallel/parallel_engine.h"

namespace s2s {

/// Bytes per element that a layout stores and communicates.
struct ElementBytes {
  int64_t stored = 4;    // shards of parameters, gradients and optimizer state
  int64_t gathered = 4;  // unsharded parameters
  int64_t reduced = 4;   // gradients during reduction
  int64_t product = 4;   // inputs and outputs of matrix products
  int64_t stream = 4;    // activations between blocks
};

/// Units are sharded or offloaded. Each is unsharded for use and freed afterwards.
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

/// Every rank of the shard axis stores the full parameter.
inline bool is_replicated(const EngineSettings& settings, bool is_trained) {
  return settings.replicate_frozen && !is_trained;
}

/// A rank's shard of the parameter is stored in host memory.
inline bool lives_on_host(const EngineSettings& settings, bool is_trained) {
  return settings.offload == Offload::kParameters ||
         (settings.offload == Offload::kOptimizer && is_trained);
}

/// Size of the groups of adjacent ranks that keep freed units sharded among them between forward
/// and backward. 0: no such groups.
inline int64_t near_group_size(const EngineSettings& settings) {
  const int64_t size = settings.reshard_group_size, shard = settings.mesh.shard;
  return settings.reshard_after_forward && size > 1 && size < shard && shard % size == 0 ? size : 0;
}

}  // namespace s2s
