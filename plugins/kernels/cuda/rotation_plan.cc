#include "rotation_plan.h"

#include <algorithm>

#include "kernel_macros.h"

namespace s2s::cuda {
namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kMostThreads = 512;

}  // namespace

std::optional<RotationPlan> plan_rotation(const RotationCase& rotation) {
  if (!type_number(rotation.type) || rotation.dim <= 0 || rotation.dim % 2 != 0) return {};
  RotationPlan plan;
  const int64_t half = rotation.dim / 2;
  plan.elements_per_load = elements_per_load({rotation.type}, half, rotation.is_aligned);
  const int64_t heads = rotation.q_heads + rotation.k_heads + rotation.v_heads;
  const int64_t items = heads * (half / plan.elements_per_load);
  plan.threads = std::min(kMostThreads, (items + kWarp - 1) / kWarp * kWarp);
  return plan;
}

std::vector<std::string> rotation_macros(const RotationCase& rotation, const RotationPlan& plan) {
  return {define("DIM", rotation.dim),         define("TYPE", type_number(rotation.type).value()),
          define("THREADS", plan.threads),     define("LOAD", plan.elements_per_load),
          define("Q_HEADS", rotation.q_heads), define("K_HEADS", rotation.k_heads),
          define("V_HEADS", rotation.v_heads)};
}

}  // namespace s2s::cuda
