#pragma once
// How gated.cu is compiled for one width and dtype.

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace s2s::cuda {

struct GatedCase {
  int64_t dim = 0;  // elements of a row of gate
  c10::ScalarType type = c10::ScalarType::Float;
  bool is_silu = true;
  bool is_aligned = true;  // every row of every tensor begins at a multiple of 16 bytes
};

struct GatedPlan {
  int64_t elements_per_load = 1;
  int64_t threads = 256;
  bool operator==(const GatedPlan&) const = default;
};

/// Returns nothing for dtypes that the kernels lack.
std::optional<GatedPlan> plan_gated(const GatedCase& gated);

/// Returns the macros of gated.cu.
std::vector<std::string> gated_macros(const GatedCase& gated, const GatedPlan& plan);

}  // namespace s2s::cuda
