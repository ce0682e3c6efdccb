#pragma once
// What the checks share.

#include <string>
#include <vector>

#include "s2s/conformance.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/parallel/plan.h"

namespace s2s::conformance {

/// Collects answers: one for each question that is answered with no.
class Questions {
 public:
  void ask(bool holds, std::string answer) {
    if (!holds) answers_.push_back(std::move(answer));
  }
  Answers take() { return std::move(answers_); }

 private:
  Answers answers_;
};

/// Equal sizes, and no element further apart than `tolerance` times the largest of `expected`.
bool close(const at::Tensor& actual, const at::Tensor& expected, double tolerance = 1e-4);

/// After a backward: every parameter has a finite gradient.
void ask_gradients(Block& block, Questions& questions);
/// Every parameter has one row, every row and unit a module.
void ask_plan(Block& block, const ShardPlan& plan, Questions& questions);
/// That, for the plans of small meshes; a number that a tensor axis does not divide is no fault.
void ask_plans(Backbone& model, Questions& questions);
/// Each name has one in checkpoints, which leads back to it, and no two have the same.
void ask_names(Block& block, const NameMap& names, Questions& questions);

}  // namespace s2s::conformance
