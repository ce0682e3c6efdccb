#pragma once
// How rotation.cu is compiled for one model's heads.

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace s2s::cuda {

struct RotationCase {
  int64_t dim = 0;  // elements of a head
  c10::ScalarType type = c10::ScalarType::Float;
  int64_t q_heads = 0;
  int64_t k_heads = 0;
  int64_t v_heads = 0;     // copied; 0: values are not passed
  bool is_aligned = true;  // every head of every tensor begins at a multiple of 16 bytes
};

struct RotationPlan {
  int64_t elements_per_load = 1;
  int64_t threads = 32;  // of a position
  bool operator==(const RotationPlan&) const = default;
};

/// Returns nothing for dtypes that the kernel lacks and for heads that have no halves.
std::optional<RotationPlan> plan_rotation(const RotationCase& rotation);

/// Returns the macros of rotation.cu.
std::vector<std::string> rotation_macros(const RotationCase& rotation, const RotationPlan& plan);

}  // namespace s2s::cuda
