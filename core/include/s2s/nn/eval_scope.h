#pragma once
// EvalScope: eval mode for a scope.

#include "s2s/nn/block.h"

namespace s2s {

/// Switches a block to eval mode, and back to the mode that it had at the end of the scope.
class EvalScope {
 public:
  explicit EvalScope(Block& block) : block_(block), was_training_(block.is_training()) {
    block_.train(false);
  }
  ~EvalScope() { block_.train(was_training_); }
  EvalScope(const EvalScope&) = delete;
  EvalScope& operator=(const EvalScope&) = delete;

 private:
  Block& block_;
  bool was_training_;
};

}  // namespace s2s
