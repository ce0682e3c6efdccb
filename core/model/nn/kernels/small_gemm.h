#pragma once
// Products of a few rows with a large weight, as generation makes them: each weight is read from
// memory once and nothing is prepared, which is what such a product costs.

#include <cstdint>

namespace s2s::rows {

/// W, Y: both float, or both bfloat16, or float and bfloat16: then each weight is rounded to
/// bfloat16 on the way, as autocast would do beforehand (x has been rounded already).
template <class W, class Y>
struct FewRows {
  const W* x;                      // [M, K]
  const W* weight;                 // [N, K]
  const float* bias;               // [N] or null
  Y* y;                            // [M, N]
  int64_t num_rows, inner, outer;  // M, K, N
};

/// Outputs [begin, end) of every row; summed in float.
template <class W, class Y>
void run(const FewRows<W, Y>& job, int64_t begin, int64_t end);

}  // namespace s2s::rows
