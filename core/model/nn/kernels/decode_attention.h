#pragma once
// Attention of a single new position per row, for generation.

#include <cstdint>

namespace s2s::rows {

/// One query per head. Keys and values are [B, kv heads, positions, D] with any stride between rows
/// and heads; positions and elements are contiguous. `shared` query heads use each kv head. T:
/// float or bfloat16. Arithmetic is in float.
template <class T>
struct OneQuery {
  const T *q, *k, *v;  // q [B, kv heads * shared, D]
  T* y;                // as q
  int64_t kv_heads, shared, positions, dim;
  int64_t row_stride, head_stride;  // of k and v, in elements
  float scale;
  float soft_cap = 0;  // scores become cap * tanh(score / cap); 0: no cap
};

/// Processes kv heads [begin, end), counted over all rows: row * kv_heads + head. `dim` must be a
/// multiple of kDimStep and at most kMostDim.
constexpr int64_t kMostDim = 256;
template <class T>
constexpr int64_t kDimStep = 64 / sizeof(T);
template <class T>
void run(const OneQuery<T>& job, int64_t begin, int64_t end);

}  // namespace s2s::rows
