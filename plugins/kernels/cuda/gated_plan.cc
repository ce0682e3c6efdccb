#include "gated_plan.h"

#include "kernel_macros.h"

namespace s2s::cuda {

std::optional<GatedPlan> plan_gated(const GatedCase& gated) {
  if (!type_number(gated.type) || gated.dim <= 0) return {};
  return GatedPlan{elements_per_load({gated.type}, gated.dim, gated.is_aligned)};
}

std::vector<std::string> gated_macros(const GatedCase& gated, const GatedPlan& plan) {
  return {define("DIM", gated.dim), define("TYPE", type_number(gated.type).value()),
          define("THREADS", plan.threads), define("LOAD", plan.elements_per_load),
          define("SILU", gated.is_silu ? 1 : 0)};
}

}  // namespace s2s::cuda
