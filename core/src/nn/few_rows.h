#pragma once
// Products of a few rows with a large weight, as generation makes them: each weight is read from
// memory once and nothing is prepared, which is what such a product costs.

#include <cstdint>

namespace s2s::rows {

struct FewRows {
  const float* x;                  // [M, K]
  const float* weight;             // [N, K]
  const float* bias;               // [N] or null
  float* y;                        // [M, N]
  int64_t num_rows, inner, outer;  // M, K, N
};

/// Outputs [begin, end) of every row.
void run(const FewRows& job, int64_t begin, int64_t end);

}  // namespace s2s::rows
