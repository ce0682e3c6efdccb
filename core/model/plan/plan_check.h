#pragma once
// Finds all errors of a sharding plan before memory is allocated, and suggests valid meshes.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "s2s/nn/block.h"
#include "s2s/parallel/plan.h"

namespace s2s {

struct PlanCheckInputs {
  MeshShape mesh;
  int64_t world_size = 0;  // ranks that the launcher started; 0: unknown
};

/// Returns all findings together: rows and units without a match, parameters without a row or with
/// several, splits and counts that are not divisible, contradictory units and tied parameters, the
/// size of the mesh. Rules V1 to V7 of core/docs/internals/sharding.md.
Findings check_plan(Block& model, const ShardPlan& plan, const PlanCheckInputs& inputs);

/// Returns at most `most` meshes with the required number of ranks (world_size, otherwise the size
/// of the mesh) for which the plan has no findings. The closest tensor sizes come first. Only the
/// tensor and shard axes change.
std::vector<MeshShape> nearest_meshes(Block& model,
                                      const std::function<ShardPlan(const MeshShape&)>& plan,
                                      const PlanCheckInputs& inputs, size_t most = 3);

/// Returns the mesh in the format of --mesh: "shard=4,tensor=2". Axes of size one are omitted
/// ("shard=1" when all are).
std::string mesh_argument(const MeshShape& mesh);

}  // namespace s2s
