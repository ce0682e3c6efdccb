#pragma once

#include "s2s/nn/block.h"

namespace s2s::two_level {

/// Switches a model to eval mode for a scope.
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

}  // namespace s2s::two_level
