#pragma once
// Sixteen numbers at a time, for kernels that are written once as inlined bodies and compiled for
// several processors. A file that includes this passes vectors only between inlined functions.

#include <cstdint>
#include <cstring>

#define S2S_BODY inline __attribute__((always_inline))
#define S2S_VECTORIZED optimize("O3", "no-trapping-math", "no-math-errno")
#pragma GCC diagnostic ignored "-Wpsabi"

namespace s2s {

constexpr int64_t kLanes = 16;

/// The compiler splits it where the processor's registers are smaller.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
using HalfLanes = float __attribute__((vector_size(kLanes / 2 * sizeof(float))));

S2S_BODY Lanes load_lanes(const float* from) { return *reinterpret_cast<const Lanes*>(from); }
S2S_BODY void store_lanes(const Lanes& value, float* to) { *reinterpret_cast<Lanes*>(to) = value; }

/// The sum of all lanes, in a fixed order.
S2S_BODY float total(const Lanes& lanes) {
  const HalfLanes low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const HalfLanes high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  const HalfLanes sum = low + high;
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/// Runs `job` on [begin, end) with the best instructions this processor has.
/// Body: a type whose always inlined `static void run(job, begin, end)` does the work.
template <class Body, class Job>
__attribute__((S2S_VECTORIZED)) void run_any(const Job& job, int64_t begin, int64_t end) {
  Body::run(job, begin, end);
}

#if defined(__x86_64__)
template <class Body, class Job>
__attribute__((target("avx2,fma"), S2S_VECTORIZED)) void run_avx2(const Job& job, int64_t begin,
                                                                  int64_t end) {
  Body::run(job, begin, end);
}

template <class Body, class Job>
__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512"),
               S2S_VECTORIZED)) void
run_avx512(const Job& job, int64_t begin, int64_t end) {
  Body::run(job, begin, end);
}
#endif

template <class Body, class Job>
void run_best(const Job& job, int64_t begin, int64_t end) {
#if defined(__x86_64__)
  static const bool has_512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (has_512) return run_avx512<Body>(job, begin, end);
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2) return run_avx2<Body>(job, begin, end);
#endif
  run_any<Body>(job, begin, end);
}

}  // namespace s2s
