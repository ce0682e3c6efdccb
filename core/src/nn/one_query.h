#pragma once
// Attention of a single new position per row, as generation asks for it.

#include <cstdint>

namespace s2s::rows {

/// One query per head over keys and values that lie [B, kv heads, positions, D] with any stride
/// between rows and heads, positions and numbers contiguous. `shared` query heads use each kv head.
struct OneQuery {
  const float *q, *k, *v;  // q [B, kv heads * shared, D]
  float* y;                // as q
  int64_t kv_heads, shared, positions, dim;
  int64_t row_stride, head_stride;  // of k and v, in numbers
  float scale;
};

/// Kv heads [begin, end) counted over all rows: row * kv_heads + head. dim is a multiple of 16, at
/// most kMostDim.
constexpr int64_t kMostDim = 256;
void run(const OneQuery& job, int64_t begin, int64_t end);

}  // namespace s2s::rows
