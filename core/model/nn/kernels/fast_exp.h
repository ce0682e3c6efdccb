#pragma once
// An exponential function that the compiler can vectorize.

#include <cstdint>
#include <cstring>

#include "base/lanes.h"

namespace s2s::rows {

/// e^x = (1 + fraction) power, where power is a power of 2. x is clamped to the range of normal
/// results. Source: Cephes expf (range reduction by ln 2 in two parts, polynomial of degree 5).
struct ExpParts {
  float fraction, power;
};

S2S_BODY ExpParts exp_parts(float x) {
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  const float shifted = x * 1.44269504F + 12582912.0F;  // 1.5 * 2^23: the sum rounds to an integer
  const float n = shifted - 12582912.0F;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return {p * r * r + r, power};
}

/// Returns e^x within 2 units in the last place.
S2S_BODY float exp_of(float x) {
  const ExpParts parts = exp_parts(x);
  return (parts.fraction + 1.0F) * parts.power;
}

/// Returns e^x - 1. Nothing is lost where x is small.
S2S_BODY float expm1_of(float x) {
  const ExpParts parts = exp_parts(x);
  return parts.fraction * parts.power + (parts.power - 1.0F);
}

}  // namespace s2s::rows
