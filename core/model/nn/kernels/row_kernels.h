#pragma once
// Element-wise operations of a decoder on rows of elements, each in one pass over memory. They are
// plain loops that the compiler vectorizes. The best variant for the processor is chosen at run
// time. Dtypes: float or bfloat16. Arithmetic is in float.

#include <c10/util/BFloat16.h>

#include <cstdint>

namespace s2s::rows {

/// y = w * x * r with r = 1 / sqrt(mean(x^2) + eps), stored in inv_rms. x * r is rounded to T
/// before the multiplication by w. adds_one: y = (1 + w) * x * r, rounded only at the end.
template <class T>
struct RmsNormRows {
  const T* x;
  const T* weight;
  T* y;
  float* inv_rms;
  int64_t dim;
  float eps;
  bool adds_one;
};
/// Computes dx from dy. Adds this range's contribution to weight_grad [dim].
template <class T>
struct RmsNormGradRows {
  const T* dy;
  const T* x;
  const T* weight;
  const float* inv_rms;
  T* dx;
  float* weight_grad;
  int64_t dim;
  bool adds_one;
};
/// Activations of a gate: x * sigmoid(x), and GELU with the tanh approximation.
struct Silu {};
struct GeluTanh {};
/// y = activation(gate) * up.
template <class T, class Gate>
struct GatedRows {
  const T* gate;
  const T* up;
  T* y;
};
template <class T, class Gate>
struct GatedGradRows {
  const T* dy;
  const T* gate;
  const T* up;
  T* d_gate;
  T* d_up;
};
/// Split-half rotation of x [rows, heads, dim] by the angles of row % frames. sign -1 rotates back.
template <class T>
struct RotaryRows {
  const T* x;
  const float* cos;  // [frames, dim]; only the first half of a row is used
  const float* sin;
  T* y;
  int64_t heads;
  int64_t dim;
  int64_t frames;
  float sign;
};

/// y = x where x is positive, and e^x - 1 elsewhere.
struct EluRows {
  const float* x;
  float* y;
};

/// Each function processes rows (or elements, for gated ones and EluRows) begin .. end - 1.
template <class T>
void run(const RmsNormRows<T>& job, int64_t begin, int64_t end);
template <class T>
void run(const RmsNormGradRows<T>& job, int64_t begin, int64_t end);
template <class T, class Gate>
void run(const GatedRows<T, Gate>& job, int64_t begin, int64_t end);
template <class T, class Gate>
void run(const GatedGradRows<T, Gate>& job, int64_t begin, int64_t end);
void run(const EluRows& job, int64_t begin, int64_t end);
template <class T>
void run(const RotaryRows<T>& job, int64_t begin, int64_t end);

}  // namespace s2s::rows
