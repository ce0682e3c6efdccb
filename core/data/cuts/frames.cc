#include "s2s/data/frames.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/whole_number.h"
#include "cuts/cuts_errors.h"

namespace s2s {
namespace {

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

int64_t hop_samples(double frame_length_s, int64_t sample_rate_hz) {
  const int64_t hop =
      to_whole(std::nearbyint(frame_length_s * static_cast<double>(sample_rate_hz)));
  if (sample_rate_hz <= 0 || hop < 1) throw cuts_errors::frames(frame_length_s, sample_rate_hz);
  return hop;
}

}  // namespace

int64_t compute_num_frames_from_samples(int64_t num_samples, double frame_length_s,
                                        int64_t sample_rate_hz) {
  const int64_t hop = hop_samples(frame_length_s, sample_rate_hz);
  return floor_divide(num_samples + hop / 2, hop);
}

int64_t compute_num_frames(double duration_s, double frame_length_s, int64_t sample_rate_hz) {
  const double samples = duration_s * static_cast<double>(sample_rate_hz);
  return compute_num_frames_from_samples(to_whole(std::nearbyint(samples)), frame_length_s,
                                         sample_rate_hz);
}

// glibc prints the correctly rounded decimal of the exact binary value. Python defines round(x, 8)
// by the same decimal.
double round_time(double time_s) {
  char text[400];
  std::snprintf(text, sizeof text, "%.8f", time_s);
  return std::strtod(text, nullptr);
}

int64_t compute_num_samples(double duration_s, int64_t sample_rate_hz) {
  const double exact = round_time(duration_s * static_cast<double>(sample_rate_hz));
  const double magnitude = std::fabs(exact);
  const double whole = std::floor(magnitude);
  const int64_t rounded = to_whole(magnitude - whole >= 0.5 ? whole + 1 : whole);
  return exact < 0 ? -rounded : rounded;
}

}  // namespace s2s
