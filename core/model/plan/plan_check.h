#pragma once
// Finds everything that is wrong with a sharding plan, before any memory is spent, and the meshes
// that would work.

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
  int64_t world_size = 0;  // ranks that the launcher started; 0: not known
};

/// All findings at once: rows and units that match nothing, parameters without a row or with
/// several, splits and numbers that do not divide, units and tied parameters that disagree, the
/// mesh's size. Rules V1 to V7 of core/docs/internals/sharding.md.
Findings check_plan(Block& model, const ShardPlan& plan, const PlanCheckInputs& inputs);

/// Meshes of as many ranks as `inputs` asks for (world_size, else the mesh's own) under which the
/// model's plan has no finding, the nearest tensor size first; at most `most` of them. The other
/// axes stay; the shard axis takes up the rest.
std::vector<MeshShape> nearest_meshes(Block& model,
                                      const std::function<ShardPlan(const MeshShape&)>& plan,
                                      const PlanCheckInputs& inputs, size_t most = 3);

/// As --mesh takes it: "shard=4,tensor=2"; axes of one rank are left out ("shard=1" when all are).
std::string mesh_argument(const MeshShape& mesh);

}  // namespace s2s
