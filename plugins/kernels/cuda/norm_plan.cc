#include "norm_plan.h"

#include <algorithm>

namespace s2s::cuda {
namespace {

constexpr int64_t kLoadBytes = 16;
constexpr int64_t kMostLoads = 2;  // of a thread; one while the block has room: it saves registers
constexpr int64_t kLargestBlock = 1024;
constexpr int64_t kUsualBlock = 256;

std::optional<int> type_number(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return 0;
    case c10::ScalarType::BFloat16:
      return 1;
    case c10::ScalarType::Half:
      return 2;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<NormPlan> plan_norm(const NormCase& norm) {
  if (!type_number(norm.type) || norm.dim <= 0) return std::nullopt;
  const int64_t per_load = kLoadBytes / static_cast<int64_t>(c10::elementSize(norm.type));
  NormPlan plan;
  plan.elements_per_load = norm.is_aligned && norm.dim % per_load == 0 ? per_load : 1;
  const int64_t loads = (norm.dim + plan.elements_per_load - 1) / plan.elements_per_load;
  while (plan.lanes < loads && plan.lanes < kLargestBlock) plan.lanes *= 2;
  if (plan.lanes * kMostLoads < loads) return std::nullopt;
  plan.rows = std::max<int64_t>(1, kUsualBlock / plan.lanes);
  return plan;
}

std::vector<std::string> norm_macros(const NormCase& norm, const NormPlan& plan) {
  const auto define = [](const char* name, int64_t value) {
    return std::string("-DS2S_") + name + "=" + std::to_string(value);
  };
  return {define("DIM", norm.dim),
          define("TYPE", type_number(norm.type).value()),
          define("LANES", plan.lanes),
          define("ROWS", plan.rows),
          define("LOAD", plan.elements_per_load),
          define("ADDS", norm.adds ? 1 : 0),
          define("ADDS_ONE", norm.adds_one ? 1 : 0)};
}

}  // namespace s2s::cuda
