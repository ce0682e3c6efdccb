#pragma once
// Frame and sample arithmetic of duplex data. The rounding of halves decides in which frame a token
// is placed, so these functions round exactly as Lhotse does.

#include <cstdint>

#include "s2s/data/fingerprint.h"

namespace s2s {

/// Number of frames in a duration, rounded to the nearest integer (halves up).
/// Units: seconds, hertz. Negative durations give negative numbers.
/// Rounding: samples and hop are first rounded to whole samples, halves to even (as Python's
/// round); then (samples + hop / 2) / hop, both divisions rounded towards minus infinity.
/// Errors: [data/frames] when the rate is not positive or the hop is shorter than one sample.
/// Source: lhotse/utils.py compute_num_frames.
int64_t compute_num_frames(double duration_s, double frame_length_s, int64_t sample_rate_hz);

/// The same, from a number of samples. Source: lhotse/utils.py compute_num_frames_from_samples.
int64_t compute_num_frames_from_samples(int64_t num_samples, double frame_length_s,
                                        int64_t sample_rate_hz);

/// Number of samples in a duration. Unlike compute_num_frames, rounds the product to 8 decimals
/// first, and then halves away from zero.
/// Units: seconds, hertz. Source: lhotse/utils.py compute_num_samples.
int64_t compute_num_samples(double duration_s, int64_t sample_rate_hz);

/// A time rounded to 8 decimals (halves of the exact value to even), as Lhotse stores sums.
double round_time(double time_s);

}  // namespace s2s
