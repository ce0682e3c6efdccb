// activation(gate) * up, and its backward, in one pass each. Gate and up may be halves of the same
// rows.
//
// Compiled at run time for one width. A thread has one access to memory of each tensor.
//
//   S2S_DIM        elements of a row of gate
//   S2S_TYPE       0 float32, 1 bfloat16, 2 float16; arithmetic is float32
//   S2S_THREADS    threads of a block
//   S2S_LOAD       elements of one access to memory: 16 bytes of them, or 1
//   S2S_SILU       1: x * sigmoid(x); 0: GELU with the tanh approximation
//
// Both activations are x * sigmoid(z), since (1 + tanh(a)) / 2 = sigmoid(2 a).

#include "elements.cuh"

constexpr int kPacks = S2S_DIM / S2S_LOAD;  // of a row

#if S2S_SILU
__device__ inline float z_of(float x) { return x; }
__device__ inline float slope_of(float) { return 1.0F; }
#else
// a = sqrt(2 / pi) (x + 0.044715 x^3).  Source: Hendrycks and Gimpel 2016, arXiv 1606.08415.
constexpr float kTwiceRoot = 1.5957691216057308F;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715F;
__device__ inline float z_of(float x) { return kTwiceRoot * (x + kCubic * x * x * x); }
__device__ inline float slope_of(float x) { return kTwiceRoot * (1.0F + 3 * kCubic * x * x); }
#endif

__device__ inline float sigmoid_of(float z) { return 1.0F / (1.0F + expf(-z)); }

/// The place of this thread's elements in rows that begin `stride` elements apart.
__device__ inline long long place(long long index, long long stride) {
  return index / kPacks * stride + index % kPacks * S2S_LOAD;
}

__device__ inline long long index_of_thread() {
  return static_cast<long long>(blockIdx.x) * S2S_THREADS + threadIdx.x;
}

/// Rows of gate and up begin in_stride elements apart; those of y follow each other. count:
/// accesses to y.
S2S_ENTRY(S2S_THREADS)
s2s_gated(const Element<S2S_TYPE>* gate, const Element<S2S_TYPE>* up, Element<S2S_TYPE>* y,
          long long in_stride, long long count) {
  const long long index = index_of_thread();
  if (index >= count) return;
  const long long from = place(index, in_stride);
  const auto g = load_pack<S2S_TYPE, S2S_LOAD>(gate + from);
  const auto u = load_pack<S2S_TYPE, S2S_LOAD>(up + from);
  float values[S2S_LOAD];
  S2S_UNROLL
  for (int i = 0; i < S2S_LOAD; ++i) {
    const float x = value_of<S2S_TYPE, S2S_LOAD>(g, i);
    values[i] = x * sigmoid_of(z_of(x)) * value_of<S2S_TYPE, S2S_LOAD>(u, i);
  }
  store_pack<S2S_TYPE, S2S_LOAD>(y + place(index, S2S_DIM), values);
}

/// Rows of d_gate and d_up begin out_stride elements apart.
S2S_ENTRY(S2S_THREADS)
s2s_gated_backward(const Element<S2S_TYPE>* dy, const Element<S2S_TYPE>* gate,
                   const Element<S2S_TYPE>* up, Element<S2S_TYPE>* d_gate, Element<S2S_TYPE>* d_up,
                   long long in_stride, long long out_stride, long long count) {
  const long long index = index_of_thread();
  if (index >= count) return;
  const long long from = place(index, in_stride);
  const auto d = load_pack<S2S_TYPE, S2S_LOAD>(dy + place(index, S2S_DIM));
  const auto g = load_pack<S2S_TYPE, S2S_LOAD>(gate + from);
  const auto u = load_pack<S2S_TYPE, S2S_LOAD>(up + from);
  float of_gate[S2S_LOAD];
  float of_up[S2S_LOAD];
  S2S_UNROLL
  for (int i = 0; i < S2S_LOAD; ++i) {
    const float x = value_of<S2S_TYPE, S2S_LOAD>(g, i);
    const float grad = value_of<S2S_TYPE, S2S_LOAD>(d, i);
    const float sigmoid = sigmoid_of(z_of(x));
    const float active = x * sigmoid;
    const float bend = active * (1.0F - sigmoid) * slope_of(x);
    of_gate[i] = grad * value_of<S2S_TYPE, S2S_LOAD>(u, i) * (sigmoid + bend);
    of_up[i] = grad * active;
  }
  const long long to = place(index, out_stride);
  store_pack<S2S_TYPE, S2S_LOAD>(d_gate + to, of_gate);
  store_pack<S2S_TYPE, S2S_LOAD>(d_up + to, of_up);
}
