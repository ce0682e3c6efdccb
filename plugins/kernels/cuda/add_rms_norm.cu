// RMS norm of rows, with or without an addition in front of it, forward and backward.
//
// Compiled at run time for one size and type. A row has S2S_LANES threads; a block has S2S_ROWS
// rows. Every thread keeps its part of a row in registers, so that memory is read once.
//
//   S2S_DIM        elements of a row
//   S2S_TYPE       0 float32, 1 bfloat16, 2 float16; sums are float32
//   S2S_LANES      threads of a row, a power of two from 32 to 1024
//   S2S_ROWS       rows of a block
//   S2S_LOAD       elements of one access to memory: 16 bytes of them, or 1
//   S2S_ADDS       1: forward norms x + y and stores it; backward adds the gradient of the sum
//   S2S_ADDS_ONE   1: the factor is 1 + weight
//
// The formulas and the places of rounding are those of the plain norm (rms_norm_plain). No header
// is needed. Outside of a CUDA compiler, tests give the few CUDA names that occur.

#ifdef __CUDA_ARCH__
#define S2S_UNROLL _Pragma("unroll")
#else
#define S2S_UNROLL
#endif
#ifndef S2S_ENTRY
#define S2S_ENTRY extern "C" __global__ void __launch_bounds__(S2S_LANES* S2S_ROWS)
#endif

constexpr int kLoads = (S2S_DIM + S2S_LANES * S2S_LOAD - 1) / (S2S_LANES * S2S_LOAD);
constexpr int kWarps = S2S_LANES / 32;  // of a row

#if S2S_TYPE == 0
using Element = float;
#else
using Element = unsigned short;
#endif

#if S2S_TYPE == 0
__device__ inline float widened(float value) { return value; }
__device__ inline float narrowed(float value) { return value; }
#elif S2S_TYPE == 1
__device__ inline float widened(unsigned bits) { return __uint_as_float(bits << 16); }
__device__ inline unsigned narrowed(float value) {
#ifdef __CUDA_ARCH__
  unsigned both;  // the instruction for one value needs a newer device
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(0.0F), "f"(value));
  return both;
#else
  return bfloat16_bits(value);
#endif
}
#else
__device__ inline float widened(unsigned bits) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(bits)));
  return value;
#else
  return float16_value(bits);
#endif
}
__device__ inline unsigned narrowed(float value) {
#ifdef __CUDA_ARCH__
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  return float16_bits(value);
#endif
}
#endif

/// What one access to memory brings.
#if S2S_LOAD == 1
struct Pack {
  Element element;
};
__device__ inline float value_of(const Pack& pack, int) { return widened(pack.element); }
__device__ inline Pack packed(const float (&values)[1]) {
  return {static_cast<Element>(narrowed(values[0]))};
}
#else
struct alignas(16) Pack {
  unsigned words[4];
};
#if S2S_TYPE == 0
__device__ inline float value_of(const Pack& pack, int i) { return __uint_as_float(pack.words[i]); }
__device__ inline Pack packed(const float (&values)[4]) {
  return {{__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
           __float_as_uint(values[3])}};
}
#else
__device__ inline float value_of(const Pack& pack, int i) {
  const unsigned word = pack.words[i / 2];
  return widened(i % 2 == 0 ? word & 0xFFFFU : word >> 16);
}
__device__ inline Pack packed(const float (&values)[8]) {
  Pack pack;
  for (int j = 0; j < 4; ++j) {
    pack.words[j] = narrowed(values[2 * j]) | narrowed(values[2 * j + 1]) << 16;
  }
  return pack;
}
#endif
#endif

__device__ inline const Pack& pack_at(const Element* row, int column) {
  return *reinterpret_cast<const Pack*>(row + column);
}
__device__ inline void store_pack(Element* row, int column, const Pack& pack) {
  *reinterpret_cast<Pack*>(row + column) = pack;
}
__device__ inline float rounded(float value) { return widened(narrowed(value)); }
__device__ inline float factor(float weight) { return S2S_ADDS_ONE ? 1.0F + weight : weight; }

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

S2S_ENTRY s2s_rms_norm(const Element* x, const Element* y, const Element* weight, Element* sum,
                       Element* normed, float* inv_rms, long long rows, float eps) {
  const long long row = static_cast<long long>(blockIdx.x) * S2S_ROWS + threadIdx.y;
  const bool is_row = row < rows;
  Pack kept[kLoads];
  float squares = 0;
  S2S_UNROLL
  for (int load = 0; load < kLoads; ++load) {
    const int column = (load * S2S_LANES + static_cast<int>(threadIdx.x)) * S2S_LOAD;
    if (!is_row || column >= S2S_DIM) continue;
    kept[load] = pack_at(x + row * S2S_DIM, column);
#if S2S_ADDS
    const Pack other = pack_at(y + row * S2S_DIM, column);
    float values[S2S_LOAD];
    S2S_UNROLL
    for (int i = 0; i < S2S_LOAD; ++i) values[i] = value_of(kept[load], i) + value_of(other, i);
    kept[load] = packed(values);
    store_pack(sum + row * S2S_DIM, column, kept[load]);
#endif
    S2S_UNROLL
    for (int i = 0; i < S2S_LOAD; ++i) {
      squares += value_of(kept[load], i) * value_of(kept[load], i);
    }
  }
  const float r = 1.0F / sqrtf(row_total(squares) / S2S_DIM + eps);
  if (is_row && threadIdx.x == 0) inv_rms[row] = r;
  S2S_UNROLL
  for (int load = 0; load < kLoads; ++load) {
    const int column = (load * S2S_LANES + static_cast<int>(threadIdx.x)) * S2S_LOAD;
    if (!is_row || column >= S2S_DIM) continue;
    const Pack w = pack_at(weight, column);
    float values[S2S_LOAD];
    S2S_UNROLL
    for (int i = 0; i < S2S_LOAD; ++i) {
      const float scaled = value_of(kept[load], i) * r;
      values[i] = (S2S_ADDS_ONE ? scaled : rounded(scaled)) * factor(value_of(w, i));
    }
    store_pack(normed + row * S2S_DIM, column, packed(values));
  }
}

/// weight_parts [groups, S2S_DIM] with groups = blocks * S2S_ROWS: each group's rows, summed in
/// their order.
S2S_ENTRY s2s_rms_norm_backward(const Element* d_sum, const Element* d_normed, const Element* x,
                                const Element* weight, const float* inv_rms, Element* dx,
                                float* weight_parts, long long rows) {
  const long long group = static_cast<long long>(blockIdx.x) * S2S_ROWS + threadIdx.y;
  const long long groups = static_cast<long long>(gridDim.x) * S2S_ROWS;
  float weight_grad[kLoads][S2S_LOAD] = {};
  // All threads of a block go round equally often: they wait for each other inside.
  for (long long begin = 0; begin < rows; begin += groups) {
    const long long row = begin + group;
    const bool is_row = row < rows;
    Pack dy[kLoads];
    Pack kept[kLoads];
    float dot = 0;
    S2S_UNROLL
    for (int load = 0; load < kLoads; ++load) {
      const int column = (load * S2S_LANES + static_cast<int>(threadIdx.x)) * S2S_LOAD;
      if (!is_row || column >= S2S_DIM) continue;
      dy[load] = pack_at(d_normed + row * S2S_DIM, column);
      kept[load] = pack_at(x + row * S2S_DIM, column);
      const Pack w = pack_at(weight, column);
      S2S_UNROLL
      for (int i = 0; i < S2S_LOAD; ++i) {
        dot += value_of(dy[load], i) * factor(value_of(w, i)) * value_of(kept[load], i);
      }
    }
    dot = row_total(dot);
    const float r = is_row ? inv_rms[row] : 0.0F;
    const float pull = dot * r * r * r / S2S_DIM;
    S2S_UNROLL
    for (int load = 0; load < kLoads; ++load) {
      const int column = (load * S2S_LANES + static_cast<int>(threadIdx.x)) * S2S_LOAD;
      if (!is_row || column >= S2S_DIM) continue;
      const Pack w = pack_at(weight, column);
#if S2S_ADDS
      const Pack through = pack_at(d_sum + row * S2S_DIM, column);
#endif
      float values[S2S_LOAD];
      S2S_UNROLL
      for (int i = 0; i < S2S_LOAD; ++i) {
        const float grad = value_of(dy[load], i);
        const float at_x = value_of(kept[load], i);
        weight_grad[load][i] += grad * at_x * r;
        values[i] = grad * factor(value_of(w, i)) * r - at_x * pull;
#if S2S_ADDS
        values[i] += value_of(through, i);
#endif
      }
      store_pack(dx + row * S2S_DIM, column, packed(values));
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
