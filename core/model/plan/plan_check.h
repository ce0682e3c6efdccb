#pragma once
// Finds everything that is wrong with a sharding plan, before any memory is spent.

#include <cstdint>

#include "s2s/error.h"
#include "s2s/nn/block.h"
#include "s2s/parallel/plan.h"

namespace s2s {

struct PlanCheckInputs {
  MeshShape mesh;
  int64_t world_size = 0;  // ranks that the launcher started; 0: not known
};

/// All findings at once: rows and units that match nothing, parameters without a row or with
/// several, splits and numbers that do not divide, units and tied parameters that disagree, the
/// mesh's size. Rules V1 to V7 of core/docs/internals/sharding.md.
Findings check_plan(Block& model, const ShardPlan& plan, const PlanCheckInputs& inputs);

}  // namespace s2s
