#include "plan/nearest_meshes.h"

#include <algorithm>
#include <cmath>

namespace s2s {
namespace {

/// How far apart two sizes are, in factors.
double distance(int64_t a, int64_t b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

}  // namespace

std::vector<MeshShape> nearest_meshes(Block& model,
                                      const std::function<ShardPlan(const MeshShape&)>& plan,
                                      const PlanCheckInputs& inputs, size_t most) {
  const int64_t world = inputs.world_size > 0 ? inputs.world_size : inputs.mesh.world_size();
  const int64_t others = inputs.mesh.pipeline * inputs.mesh.replicate * inputs.mesh.context;
  std::vector<int64_t> tensor_sizes;
  for (int64_t size = 1; size <= world; ++size) {
    if (world % (size * others) == 0) tensor_sizes.push_back(size);
  }
  std::stable_sort(tensor_sizes.begin(), tensor_sizes.end(), [&](int64_t a, int64_t b) {
    return distance(a, inputs.mesh.tensor) < distance(b, inputs.mesh.tensor);
  });
  std::vector<MeshShape> found;
  for (const int64_t size : tensor_sizes) {
    if (found.size() == most) break;
    PlanCheckInputs candidate = inputs;
    candidate.mesh.tensor = size;
    candidate.mesh.shard = world / (size * others);
    if (check_plan(model, plan(candidate.mesh), candidate).empty()) found.push_back(candidate.mesh);
  }
  return found;
}

std::string mesh_argument(const MeshShape& mesh) {
  std::string text;
  for (const auto& [name, size] : {std::pair{"pipeline", mesh.pipeline},
                                   {"replicate", mesh.replicate},
                                   {"shard", mesh.shard},
                                   {"context", mesh.context},
                                   {"tensor", mesh.tensor}}) {
    if (size == 1) continue;
    text += (text.empty() ? "" : ",") + std::string(name) + "=" + std::to_string(size);
  }
  return text.empty() ? "shard=1" : text;
}

}  // namespace s2s
