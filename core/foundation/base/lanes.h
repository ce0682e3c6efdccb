#pragma once
// Vectors of sixteen elements, for kernels that are written once as inlined bodies and compiled for
// several processors. The same functions exist for single elements. A file that includes this
// passes vectors only between inlined functions.

#include <c10/util/BFloat16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#define S2S_BODY inline __attribute__((always_inline))
#define S2S_VECTORIZED optimize("O3", "no-trapping-math", "no-math-errno")
#pragma GCC diagnostic ignored "-Wpsabi"

namespace s2s {

constexpr int64_t kLanes = 16;

/// The compiler splits it if the processor's registers are smaller.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
using HalfLanes = float __attribute__((vector_size(kLanes / 2 * sizeof(float))));
using LooseHalf =
    float __attribute__((vector_size(kLanes / 2 * sizeof(float)), aligned(4), may_alias));

/// Lanes in two halves, with the same elements and sums. Without AVX-512, GCC keeps LanePair in
/// registers and Lanes in memory.
struct LanePair {
  HalfLanes low, high;
};
S2S_BODY LanePair operator-(const LanePair& a, const LanePair& b) {
  return {a.low - b.low, a.high - b.high};
}
S2S_BODY LanePair operator*(const LanePair& a, const LanePair& b) {
  return {a.low * b.low, a.high * b.high};
}
S2S_BODY LanePair operator*(const LanePair& a, float b) { return {a.low * b, a.high * b}; }
S2S_BODY void operator+=(LanePair& a, const LanePair& b) {
  a.low += b.low;
  a.high += b.high;
}
S2S_BODY void operator/=(LanePair& a, float b) {
  a.low /= b;
  a.high /= b;
}

/// The type in which a body holds its lanes. It is the template argument in which the two bodies of
/// run_best differ.
struct InLanes {
  using Type = Lanes;
};
struct InPairs {
  using Type = LanePair;
};

S2S_BODY void load_lanes(const float* from, Lanes& to) {
  to = *reinterpret_cast<const Lanes*>(from);
}
S2S_BODY void load_lanes(const float* from, LanePair& to) {
  to.low = *reinterpret_cast<const LooseHalf*>(from);
  to.high = *reinterpret_cast<const LooseHalf*>(from + kLanes / 2);
}
template <class In = InLanes>
S2S_BODY typename In::Type load_lanes(const float* from) {
  typename In::Type lanes;
  load_lanes(from, lanes);
  return lanes;
}
S2S_BODY void store_lanes(const Lanes& value, float* to) { *reinterpret_cast<Lanes*>(to) = value; }

using LaneBits = uint32_t __attribute__((vector_size(kLanes * sizeof(uint32_t))));
using HalfLaneBits = uint32_t __attribute__((vector_size(kLanes / 2 * sizeof(uint32_t))));

/// Converts the bits of float to the bits of bfloat16, followed by zeros.
template <class Bits>
S2S_BODY Bits rounded_bits(const Bits& bits) {
  const Bits magnitude = bits & 0x7FFFFFFFU;
  const Bits nearest = bits + 0x7FFFU + ((bits >> 16U) & 1U);
  return (magnitude > 0x7F800000U ? bits | 0x400000U : nearest) & 0xFFFF0000U;
}

/// Rounds to the precision of bfloat16: to nearest, ties to even; NaN stays NaN.
S2S_BODY Lanes as_bfloat16(const Lanes& value) {
  LaneBits bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = rounded_bits(bits);
  Lanes out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}
S2S_BODY LanePair as_bfloat16(const LanePair& value) {
  HalfLaneBits bits[2];
  std::memcpy(&bits[0], &value.low, sizeof bits[0]);
  std::memcpy(&bits[1], &value.high, sizeof bits[1]);
  for (HalfLaneBits& half : bits) half = rounded_bits(half);
  LanePair out;
  std::memcpy(&out.low, &bits[0], sizeof bits[0]);
  std::memcpy(&out.high, &bits[1], sizeof bits[1]);
  return out;
}

/// As many elements of type T as fit into the same bytes, each widened to float. Elements of
/// bfloat16 are split into even and odd ones, which needs no shuffling. This order is suitable for
/// sums, and for storing in the same way.
template <class T, class In = InLanes>
struct Wide {
  static constexpr int kParts = sizeof(float) / sizeof(T);
  static constexpr int64_t kElements = kParts * kLanes;
  typename In::Type parts[kParts];  // of bfloat16: elements 0, 2, 4, ... and 1, 3, 5, ...
};

/// Loads 32 elements of bfloat16: 16 even ones and 16 odd ones.
S2S_BODY void load_parts(const c10::BFloat16* from, Lanes (&parts)[2]) {
  LaneBits both;
  std::memcpy(&both, from, sizeof both);
  const LaneBits even = both << 16U, odd = both & 0xFFFF0000U;
  std::memcpy(&parts[0], &even, sizeof even);
  std::memcpy(&parts[1], &odd, sizeof odd);
}
S2S_BODY void load_parts(const c10::BFloat16* from, LanePair (&parts)[2]) {
  HalfLaneBits low, high;
  std::memcpy(&low, from, sizeof low);
  std::memcpy(&high, from + kLanes, sizeof high);
  const HalfLaneBits even[2] = {low << 16U, high << 16U};
  const HalfLaneBits odd[2] = {low & 0xFFFF0000U, high & 0xFFFF0000U};
  std::memcpy(&parts[0], even, sizeof even);
  std::memcpy(&parts[1], odd, sizeof odd);
}

template <class In = InLanes>
S2S_BODY Wide<float, In> load_wide(const float* from) {
  return {{load_lanes<In>(from)}};
}
template <class In = InLanes>
S2S_BODY Wide<c10::BFloat16, In> load_wide(const c10::BFloat16* from) {
  Wide<c10::BFloat16, In> wide;
  load_parts(from, wide.parts);
  return wide;
}

template <class In>
S2S_BODY void store_wide(const Wide<float, In>& wide, float* to) {
  std::memcpy(to, &wide.parts[0], sizeof wide.parts[0]);
}
S2S_BODY void store_wide(const Wide<c10::BFloat16>& wide, c10::BFloat16* to) {
  const Lanes rounded[2] = {as_bfloat16(wide.parts[0]), as_bfloat16(wide.parts[1])};
  LaneBits even, odd;
  std::memcpy(&even, &rounded[0], sizeof even);
  std::memcpy(&odd, &rounded[1], sizeof odd);
  const LaneBits both = even >> 16U | odd;
  std::memcpy(to, &both, sizeof both);
}
S2S_BODY void store_wide(const Wide<c10::BFloat16, InPairs>& wide, c10::BFloat16* to) {
  HalfLaneBits even[2], odd[2];
  const LanePair rounded[2] = {as_bfloat16(wide.parts[0]), as_bfloat16(wide.parts[1])};
  std::memcpy(even, &rounded[0], sizeof even);
  std::memcpy(odd, &rounded[1], sizeof odd);
  for (int half = 0; half < 2; ++half) {
    const HalfLaneBits both = even[half] >> 16U | odd[half];
    std::memcpy(to + half * kLanes, &both, sizeof both);
  }
}

S2S_BODY float load(float x) { return x; }
S2S_BODY float load(c10::BFloat16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.x) << 16U;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

S2S_BODY void store(float value, float& out) { out = value; }
/// Rounds like as_bfloat16.
S2S_BODY void store(float value, c10::BFloat16& out) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
  const uint32_t nan = (bits >> 16U) | 0x40U;
  out.x = static_cast<uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? nan : rounded);
}

using QuadLanes = float __attribute__((vector_size(kLanes / 4 * sizeof(float))));

/// Four sums, each of every fourth lane.
S2S_BODY QuadLanes quad_of(const LanePair& lanes) {
  const HalfLanes half = lanes.low + lanes.high;
  return __builtin_shufflevector(half, half, 0, 1, 2, 3) +
         __builtin_shufflevector(half, half, 4, 5, 6, 7);
}
S2S_BODY QuadLanes quad_of(const Lanes& lanes) {
  return quad_of({__builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7),
                  __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15)});
}

S2S_BODY float total(const QuadLanes& quad) { return (quad[0] + quad[1]) + (quad[2] + quad[3]); }

/// Returns the sum of all lanes, added in a fixed order.
S2S_BODY float total(const Lanes& lanes) { return total(quad_of(lanes)); }
S2S_BODY float total(const LanePair& lanes) { return total(quad_of(lanes)); }

/// Returns four sums, each in the order of `total`.
S2S_BODY QuadLanes totals(const QuadLanes& a, const QuadLanes& b, const QuadLanes& c,
                          const QuadLanes& d) {
  const QuadLanes ab =
      __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const QuadLanes cd =
      __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}
S2S_BODY QuadLanes totals(const Lanes (&lanes)[4]) {
  return totals(quad_of(lanes[0]), quad_of(lanes[1]), quad_of(lanes[2]), quad_of(lanes[3]));
}
S2S_BODY QuadLanes totals(const LanePair (&lanes)[4]) {
  return totals(quad_of(lanes[0]), quad_of(lanes[1]), quad_of(lanes[2]), quad_of(lanes[3]));
}

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

/// Whether run_best uses run_avx512, in which one instruction shuffles two Lanes arbitrarily.
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

/// Runs `job` on [begin, end) with the best instructions of this processor. Body is a type whose
/// always inlined `static void run(job, begin, end)` does the work. SmallBody does the same work
/// for processors without AVX-512, with InPairs; these have half as many registers of half the
/// size.
template <class Body, class SmallBody = Body, class Job>
void run_best(const Job& job, int64_t begin, int64_t end) {
#if defined(__x86_64__)
  if (has_avx512()) return run_avx512<Body>(job, begin, end);
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2) return run_avx2<SmallBody>(job, begin, end);
#endif
  run_any<SmallBody>(job, begin, end);
}

}  // namespace s2s
