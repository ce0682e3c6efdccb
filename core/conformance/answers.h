#pragma once
// Functions that the conformance checks share.

#include <string>
#include <vector>

#include "s2s/conformance.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/parallel/plan.h"

namespace s2s::conformance {

/// Collects one message for each condition that is false.
class Questions {
 public:
  void ask(bool holds, std::string answer) {
    if (!holds) answers_.push_back(std::move(answer));
  }
  Answers take() { return std::move(answers_); }

 private:
  Answers answers_;
};

/// True when the sizes are equal and no element differs by more than `tolerance` times the largest
/// absolute value of `expected`.
bool close(const at::Tensor& actual, const at::Tensor& expected, double tolerance = 1e-4);

/// Checks that every trainable parameter has a finite gradient. Call it after a backward pass.
void ask_gradients(Block& block, Questions& questions);
/// Checks that every parameter matches exactly one row, and that every row and unit matches a
/// module.
void ask_plan(Block& block, const ShardPlan& plan, Questions& questions);
/// Runs the same checks for the plans of several small meshes. A size that the tensor axis does not
/// divide is not reported.
void ask_plans(Backbone& model, Questions& questions);
/// Checks that each name maps to a checkpoint name and back, and that no two tensors share one.
void ask_names(Block& block, const NameMap& names, Questions& questions);

}  // namespace s2s::conformance
