#pragma once
// Activation recomputation: the backward pass runs a block again to get its activations.

#include <ATen/autocast_mode.h>

#include "s2s/nn/block.h"

namespace s2s {

/// Disables autocast's cache of rounded weights within its scope. Cached copies would be stale
/// after the weights change or are freed.
class WithoutAutocastCopies {
 public:
  WithoutAutocastCopies() : kept_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~WithoutAutocastCopies() { at::autocast::set_autocast_cache_enabled(kept_); }
  WithoutAutocastCopies(const WithoutAutocastCopies&) = delete;
  WithoutAutocastCopies& operator=(const WithoutAutocastCopies&) = delete;

 private:
  bool kept_;
};

/// Returns run(x) of `block` and keeps only x. The backward pass runs it again with the same random
/// numbers, dtypes and buffers. With gradients disabled, it is run(x).
/// Source: torch.utils.checkpoint, the re-entrant kind.
at::Tensor recomputed(Block& block, const at::Tensor& x, const BlockHooks::Forward& run);

}  // namespace s2s
