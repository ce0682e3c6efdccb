#pragma once
// Meshes that would work, for the message about one that does not.

#include <functional>
#include <string>
#include <vector>

#include "plan/plan_check.h"

namespace s2s {

/// Meshes of as many ranks as `inputs` asks for (world_size, else the mesh's own) under which the
/// model's plan has no finding, the nearest tensor size first; at most `most` of them. The other
/// axes stay; the shard axis takes up the rest.
std::vector<MeshShape> nearest_meshes(Block& model,
                                      const std::function<ShardPlan(const MeshShape&)>& plan,
                                      const PlanCheckInputs& inputs, size_t most = 3);

/// As --mesh takes it: "shard=4,tensor=2"; axes of one rank are left out ("shard=1" when all are).
std::string mesh_argument(const MeshShape& mesh);

}  // namespace s2s
