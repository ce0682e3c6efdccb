#include "norm_plan.h"

#include <algorithm>

#include "kernel_macros.h"

namespace s2s::cuda {
namespace {

constexpr int64_t kMostLoads = 2;  // of a thread; one while the block has room: it saves registers
constexpr int64_t kLargestBlock = 1024;
constexpr int64_t kUsualBlock = 256;

}  // namespace

c10::ScalarType NormCase::out() const {
  return adds_one ? type : c10::promoteTypes(type, weight());
}

std::optional<NormPlan> plan_norm(const NormCase& norm) {
  if (!type_number(norm.type) || !type_number(norm.y()) || !type_number(norm.weight())) return {};
  if (norm.dim <= 0) return {};
  NormPlan plan;
  plan.elements_per_load = elements_per_load({norm.type, norm.y(), norm.weight(), norm.out()},
                                             norm.dim, norm.is_aligned);
  const int64_t loads = (norm.dim + plan.elements_per_load - 1) / plan.elements_per_load;
  while (plan.lanes < loads && plan.lanes < kLargestBlock) plan.lanes *= 2;
  if (plan.lanes * kMostLoads < loads) return {};
  plan.rows = std::max<int64_t>(1, kUsualBlock / plan.lanes);
  return plan;
}

std::vector<std::string> norm_macros(const NormCase& norm, const NormPlan& plan) {
  return {define("DIM", norm.dim),
          define("TYPE", type_number(norm.type).value()),
          define("Y_TYPE", type_number(norm.y()).value()),
          define("W_TYPE", type_number(norm.weight()).value()),
          define("OUT_TYPE", type_number(norm.out()).value()),
          define("LANES", plan.lanes),
          define("ROWS", plan.rows),
          define("LOAD", plan.elements_per_load),
          define("ADDS", norm.adds ? 1 : 0),
          define("ADDS_ONE", norm.adds_one ? 1 : 0)};
}

}  // namespace s2s::cuda
