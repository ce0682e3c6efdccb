#pragma once
// Sixteen elements at a time, for kernels that are written once as inlined bodies and compiled for
// several processors, and single ones of either type. A file that includes this passes vectors only
// between inlined functions.

#include <c10/util/BFloat16.h>

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

using LaneBits = uint32_t __attribute__((vector_size(kLanes * sizeof(uint32_t))));

/// Rounded to bfloat16's precision: to nearest, ties to even; NaN stays NaN.
S2S_BODY Lanes as_bfloat16(const Lanes& value) {
  LaneBits bits;
  std::memcpy(&bits, &value, sizeof bits);
  const LaneBits magnitude = bits & 0x7FFFFFFFU;
  const LaneBits nearest = bits + 0x7FFFU + ((bits >> 16U) & 1U);
  const LaneBits rounded = (magnitude > 0x7F800000U ? bits | 0x400000U : nearest) & 0xFFFF0000U;
  Lanes out;
  std::memcpy(&out, &rounded, sizeof out);
  return out;
}

/// As many elements of type T as fit into the same bytes, each widened to float. Those of bfloat16
/// lie by parity of their place, which needs no shuffling: fit for sums and for storing the same
/// way.
template <class T>
struct Wide;

template <>
struct Wide<float> {
  static constexpr int64_t kElements = kLanes;
  static constexpr int kParts = 1;
  Lanes parts[kParts];
};

template <>
struct Wide<c10::BFloat16> {
  static constexpr int64_t kElements = 2 * kLanes;
  static constexpr int kParts = 2;
  Lanes parts[kParts];  // elements 0, 2, 4, ... and 1, 3, 5, ...
};

S2S_BODY Wide<float> load_wide(const float* from) { return {{load_lanes(from)}}; }
S2S_BODY Wide<c10::BFloat16> load_wide(const c10::BFloat16* from) {
  LaneBits both;
  std::memcpy(&both, from, sizeof both);
  const LaneBits even = both << 16U, odd = both & 0xFFFF0000U;
  Wide<c10::BFloat16> wide;
  std::memcpy(&wide.parts[0], &even, sizeof even);
  std::memcpy(&wide.parts[1], &odd, sizeof odd);
  return wide;
}

S2S_BODY void store_wide(const Wide<float>& wide, float* to) { store_lanes(wide.parts[0], to); }
S2S_BODY void store_wide(const Wide<c10::BFloat16>& wide, c10::BFloat16* to) {
  const Lanes rounded[2] = {as_bfloat16(wide.parts[0]), as_bfloat16(wide.parts[1])};
  LaneBits even, odd;
  std::memcpy(&even, &rounded[0], sizeof even);
  std::memcpy(&odd, &rounded[1], sizeof odd);
  const LaneBits both = even >> 16U | odd;
  std::memcpy(to, &both, sizeof both);
}

S2S_BODY float load(float x) { return x; }
S2S_BODY float load(c10::BFloat16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.x) << 16U;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

S2S_BODY void store(float value, float& out) { out = value; }
/// As as_bfloat16.
S2S_BODY void store(float value, c10::BFloat16& out) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
  const uint32_t nan = (bits >> 16U) | 0x40U;
  out.x = static_cast<uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? nan : rounded);
}

using QuadLanes = float __attribute__((vector_size(kLanes / 4 * sizeof(float))));

/// Four sums of every fourth lane.
S2S_BODY QuadLanes quad_of(const Lanes& lanes) {
  const HalfLanes half = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7) +
                         __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(half, half, 0, 1, 2, 3) +
         __builtin_shufflevector(half, half, 4, 5, 6, 7);
}

/// The sum of all lanes, in a fixed order.
S2S_BODY float total(const Lanes& lanes) {
  const QuadLanes quad = quad_of(lanes);
  return (quad[0] + quad[1]) + (quad[2] + quad[3]);
}

/// The totals of four, each in the order of `total`.
S2S_BODY QuadLanes totals(const Lanes (&lanes)[4]) {
  const QuadLanes a = quad_of(lanes[0]), b = quad_of(lanes[1]), c = quad_of(lanes[2]),
                  d = quad_of(lanes[3]);
  const QuadLanes ab =
      __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const QuadLanes cd =
      __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
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

/// True where run_best takes run_avx512, in which one instruction shuffles two Lanes any way.
inline bool has_avx512() {
#if defined(__x86_64__)
  static const bool has_512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return has_512;
#else
  return false;
#endif
}

template <class Body, class Job>
void run_best(const Job& job, int64_t begin, int64_t end) {
#if defined(__x86_64__)
  if (has_avx512()) return run_avx512<Body>(job, begin, end);
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2) return run_avx2<Body>(job, begin, end);
#endif
  run_any<Body>(job, begin, end);
}

}  // namespace s2s
