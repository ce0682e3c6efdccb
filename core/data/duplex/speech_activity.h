#pragma once
// Finds speech in the levels of a channel; no model is needed.

#include <cstdint>
#include <span>
#include <vector>

#include "s2s/speech_segment.h"

namespace s2s {

struct VoiceActivityOptions {
  double frame_s = 0.08;
  double quietest_speech_db = -50;  // level re full scale below which nothing is speech
  double range_db = 25;             // speech lies within this range below the loudest frame
  double above_noise_db = 10;       // speech starts this far above the clip's noise floor
  double hysteresis_db = 6;         // and ends this far below where it started
  double bridge_s = 0.25;           // shorter gaps belong to the speech around them
  double shortest_s = 0.15;         // shorter segments are clicks
};

/// Where a level that cannot be told from digital silence stands.
constexpr double kDigitalSilenceDb = -120;

/// Speech segments of a channel from the levels [T] of its frames in dB re full scale, in time
/// order; boundaries lie on frames of `frame_s` seconds (options.frame_s is not used).
/// Rules: core/docs/reference/metrics.md, "Voice activity".
std::vector<SpeechSegment> find_speech(std::span<const double> levels_db, double frame_s,
                                       const VoiceActivityOptions& options);

/// The noise floor: the 10th percentile of the levels. `levels_db` is not empty.
double noise_floor_db(std::span<const double> levels_db);

/// Root mean square levels [T] in dB re full scale of frames of `frame_s` seconds, without the
/// channel's mean (a DC offset). A started frame counts as whole. Makes no copy of the samples.
std::vector<double> centered_levels_db(std::span<const float> samples, int64_t sample_rate_hz,
                                       double frame_s);

}  // namespace s2s
