// RMS norm of rows, with or without an addition in front of it, forward and backward.
//
// Compiled at run time for one size and its types. A row has S2S_LANES threads; a block has
// S2S_ROWS rows. Every thread keeps its part of a row in registers, so that memory is read once.
//
//   S2S_DIM        elements of a row
//   S2S_TYPE       of x, of the sum and their gradients: 0 float32, 1 bfloat16, 2 float16
//   S2S_Y_TYPE     of y and its gradient
//   S2S_W_TYPE     of the weight
//   S2S_OUT_TYPE   of the norm and its gradient
//   S2S_LANES      threads of a row, a power of two from 32 to 1024
//   S2S_ROWS       rows of a block
//   S2S_LOAD       elements of one access to memory: 16 bytes of the widest type, or 1
//   S2S_ADDS       1: forward norms x + y and stores it; backward adds the gradient of the sum
//   S2S_ADDS_ONE   1: the factor is 1 + weight
//
// Sums are float32. The formulas and the places of rounding are those of the plain norm
// (rms_norm_plain).

#include "elements.cuh"

constexpr int kLoads = (S2S_DIM + S2S_LANES * S2S_LOAD - 1) / (S2S_LANES * S2S_LOAD);
constexpr int kWarps = S2S_LANES / 32;  // of a row
constexpr bool kHasOwnDy = S2S_ADDS && S2S_Y_TYPE != S2S_TYPE;

using X = Element<S2S_TYPE>;
using Y = Element<S2S_Y_TYPE>;
using Weight = Element<S2S_W_TYPE>;
using Out = Element<S2S_OUT_TYPE>;

__device__ inline float factor(const Pack<S2S_W_TYPE, S2S_LOAD>& weight, int i) {
  const float w = value_of<S2S_W_TYPE, S2S_LOAD>(weight, i);
  return S2S_ADDS_ONE ? 1.0F + w : w;
}

/// The sum over the threads of a row, the same in each of them; its order is fixed.
__device__ inline float row_total(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFU, value, step);
  if (kWarps == 1) return value;
  __shared__ float parts[S2S_ROWS][kWarps];
  __syncthreads();  // the parts of the row before are read
  if (threadIdx.x % 32 == 0) parts[threadIdx.y][threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (int warp = 0; warp < kWarps; ++warp) total += parts[threadIdx.y][warp];
  return total;
}

S2S_ENTRY(S2S_LANES* S2S_ROWS)
s2s_rms_norm(const X* x, const Y* y, const Weight* weight, X* sum, Out* normed, float* inv_rms,
             long long rows, float eps) {
  const long long row = static_cast<long long>(blockIdx.x) * S2S_ROWS + threadIdx.y;
  const bool is_row = row < rows;
  Pack<S2S_TYPE, S2S_LOAD> kept[kLoads];
  float squares = 0;
  S2S_UNROLL
  for (int load = 0; load < kLoads; ++load) {
    const int column = (load * S2S_LANES + static_cast<int>(threadIdx.x)) * S2S_LOAD;
    if (!is_row || column >= S2S_DIM) continue;
    kept[load] = load_pack<S2S_TYPE, S2S_LOAD>(x + row * S2S_DIM + column);
#if S2S_ADDS
    const auto other = load_pack<S2S_Y_TYPE, S2S_LOAD>(y + row * S2S_DIM + column);
    float values[S2S_LOAD];
    S2S_UNROLL
    for (int i = 0; i < S2S_LOAD; ++i) {
      values[i] =
          value_of<S2S_TYPE, S2S_LOAD>(kept[load], i) + value_of<S2S_Y_TYPE, S2S_LOAD>(other, i);
    }
    kept[load] = packed<S2S_TYPE, S2S_LOAD>(values);
    store_pack<S2S_TYPE, S2S_LOAD>(sum + row * S2S_DIM + column, values);
#endif
    S2S_UNROLL
    for (int i = 0; i < S2S_LOAD; ++i) {
      const float value = value_of<S2S_TYPE, S2S_LOAD>(kept[load], i);
      squares += value * value;
    }
  }
  const float r = 1.0F / sqrtf(row_total(squares) / S2S_DIM + eps);
  if (is_row && threadIdx.x == 0) {
    S2S_MOVED(sizeof(float));
    inv_rms[row] = r;
  }
  S2S_UNROLL
  for (int load = 0; load < kLoads; ++load) {
    const int column = (load * S2S_LANES + static_cast<int>(threadIdx.x)) * S2S_LOAD;
    if (!is_row || column >= S2S_DIM) continue;
    const auto w = load_shared<S2S_W_TYPE, S2S_LOAD>(weight + column);
    float values[S2S_LOAD];
    S2S_UNROLL
    for (int i = 0; i < S2S_LOAD; ++i) {
      const float scaled = value_of<S2S_TYPE, S2S_LOAD>(kept[load], i) * r;
      values[i] = (S2S_ADDS_ONE ? scaled : rounded<S2S_TYPE>(scaled)) * factor(w, i);
    }
    store_pack<S2S_OUT_TYPE, S2S_LOAD>(normed + row * S2S_DIM + column, values);
  }
}

/// weight_parts [groups, S2S_DIM] with groups = blocks * S2S_ROWS: each group's rows, summed in
/// their order. dy is written if its type is not that of dx.
S2S_ENTRY(S2S_LANES* S2S_ROWS)
s2s_rms_norm_backward(const X* d_sum, const Out* d_normed, const X* x, const Weight* weight,
                      const float* inv_rms, X* dx, Y* dy, float* weight_parts, long long rows) {
  const long long group = static_cast<long long>(blockIdx.x) * S2S_ROWS + threadIdx.y;
  const long long groups = static_cast<long long>(gridDim.x) * S2S_ROWS;
  float weight_grad[kLoads][S2S_LOAD] = {};
  // All threads of a block go round equally often: they wait for each other inside.
  for (long long begin = 0; begin < rows; begin += groups) {
    const long long row = begin + group;
    const bool is_row = row < rows;
    Pack<S2S_OUT_TYPE, S2S_LOAD> grads[kLoads];
    Pack<S2S_TYPE, S2S_LOAD> kept[kLoads];
    float dot = 0;
    S2S_UNROLL
    for (int load = 0; load < kLoads; ++load) {
      const int column = (load * S2S_LANES + static_cast<int>(threadIdx.x)) * S2S_LOAD;
      if (!is_row || column >= S2S_DIM) continue;
      grads[load] = load_pack<S2S_OUT_TYPE, S2S_LOAD>(d_normed + row * S2S_DIM + column);
      kept[load] = load_pack<S2S_TYPE, S2S_LOAD>(x + row * S2S_DIM + column);
      const auto w = load_shared<S2S_W_TYPE, S2S_LOAD>(weight + column);
      S2S_UNROLL
      for (int i = 0; i < S2S_LOAD; ++i) {
        dot += value_of<S2S_OUT_TYPE, S2S_LOAD>(grads[load], i) * factor(w, i) *
               value_of<S2S_TYPE, S2S_LOAD>(kept[load], i);
      }
    }
    dot = row_total(dot);
    if (is_row && threadIdx.x == 0) S2S_MOVED(sizeof(float));
    const float r = is_row ? inv_rms[row] : 0.0F;
    const float pull = dot * r * r * r / S2S_DIM;
    S2S_UNROLL
    for (int load = 0; load < kLoads; ++load) {
      const int column = (load * S2S_LANES + static_cast<int>(threadIdx.x)) * S2S_LOAD;
      if (!is_row || column >= S2S_DIM) continue;
      const auto w = load_shared<S2S_W_TYPE, S2S_LOAD>(weight + column);
#if S2S_ADDS
      const auto through = load_pack<S2S_TYPE, S2S_LOAD>(d_sum + row * S2S_DIM + column);
#endif
      float values[S2S_LOAD];
      S2S_UNROLL
      for (int i = 0; i < S2S_LOAD; ++i) {
        const float grad = value_of<S2S_OUT_TYPE, S2S_LOAD>(grads[load], i);
        const float at_x = value_of<S2S_TYPE, S2S_LOAD>(kept[load], i);
        weight_grad[load][i] += grad * at_x * r;
        values[i] = grad * factor(w, i) * r - at_x * pull;
#if S2S_ADDS
        values[i] += value_of<S2S_TYPE, S2S_LOAD>(through, i);
#endif
      }
      store_pack<S2S_TYPE, S2S_LOAD>(dx + row * S2S_DIM + column, values);
      if constexpr (kHasOwnDy) {
        store_pack<S2S_Y_TYPE, S2S_LOAD>(dy + row * S2S_DIM + column, values);
      }
    }
  }
  S2S_UNROLL
  for (int load = 0; load < kLoads; ++load) {
    const int column = (load * S2S_LANES + static_cast<int>(threadIdx.x)) * S2S_LOAD;
    if (column >= S2S_DIM) continue;
    S2S_UNROLL
    for (int i = 0; i < S2S_LOAD; ++i) {
      weight_parts[group * S2S_DIM + column + i] = weight_grad[load][i];
    }
  }
}
