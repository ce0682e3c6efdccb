#pragma once
// Finds speech in the levels of a channel, without a model.

#include <cstdint>
#include <span>
#include <vector>

#include "s2s/speech_segment.h"

namespace s2s {

struct VoiceActivityOptions {
  double frame_s = 0.08;
  double quietest_speech_db = -50;  // dB re full scale; anything below is not speech
  double range_db = 25;             // speech is within this range below the loudest frame
  double above_noise_db = 10;       // speech starts at this level above the noise floor
  double hysteresis_db = 6;         // and ends at a level that is lower by this
  double bridge_s = 0.25;           // shorter gaps count as speech
  double shortest_s = 0.15;         // shorter segments are noise, not speech
};

/// The level of digital silence.
constexpr double kDigitalSilenceDb = -120;

/// Returns speech segments in time order. The input is the levels [T] of a channel's frames in dB
/// re full scale. Boundaries are on frames of `frame_s` seconds (options.frame_s is not used).
/// Rules: core/docs/reference/metrics.md, "Voice activity".
std::vector<SpeechSegment> find_speech(std::span<const double> levels_db, double frame_s,
                                       const VoiceActivityOptions& options);

/// The noise floor: the 10th percentile of the levels. `levels_db` must not be empty.
double noise_floor_db(std::span<const double> levels_db);

/// Returns root mean square levels [T] in dB re full scale of frames of `frame_s` seconds, after
/// the channel's mean (a DC offset) is subtracted. An incomplete last frame counts as a frame. The
/// samples are not copied.
std::vector<double> centered_levels_db(std::span<const float> samples, int64_t sample_rate_hz,
                                       double frame_s);

}  // namespace s2s
