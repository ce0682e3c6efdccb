#pragma once
// How add_rms_norm.cu is compiled for rows of one size and dtypes.

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace s2s::cuda {

/// What a norm's kernels depend on.
struct NormCase {
  int64_t dim = 0;                                // elements of a row
  c10::ScalarType type = c10::ScalarType::Float;  // of x and the sum
  bool adds = false;
  bool adds_one = false;
  bool is_aligned = true;  // every row of every tensor begins at a multiple of 16 bytes
  std::optional<c10::ScalarType> y_type = {};       // default: that of x
  std::optional<c10::ScalarType> weight_type = {};  // default: that of x

  c10::ScalarType y() const { return y_type.value_or(type); }
  c10::ScalarType weight() const { return weight_type.value_or(type); }
  /// The dtype of the norm: as the plain formula has it, x's or (as a factor) that of the product
  /// with the weight.
  c10::ScalarType out() const;
};

struct NormPlan {
  int64_t elements_per_load = 1;
  int64_t lanes = 32;  // threads of a row
  int64_t rows = 1;    // of a block
  int64_t threads() const { return lanes * rows; }
  bool operator==(const NormPlan&) const = default;
};

/// Returns nothing for dtypes that the kernels lack and for rows that do not fit into registers.
std::optional<NormPlan> plan_norm(const NormCase& norm);

/// Returns the macros of add_rms_norm.cu.
std::vector<std::string> norm_macros(const NormCase& norm, const NormPlan& plan);

}  // namespace s2s::cuda
