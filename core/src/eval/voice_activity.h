#pragma once
// Finds speech in a channel from its energy; no model is needed.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace s2s {

/// A stretch of speech on the clip's clock.
struct SpeechSegment {
  double start_s = 0;
  double end_s = 0;
};

struct VoiceActivityOptions {
  double frame_s = 0.08;
  double quietest_speech_db = -50;  // level re full scale below which nothing is speech
  double range_db = 25;             // speech lies within this range below the loudest frame
  double above_noise_db = 10;       // speech starts this far above the clip's noise floor
  double hysteresis_db = 6;         // and ends this far below where it started
  double bridge_s = 0.25;           // shorter gaps belong to the speech around them
  double shortest_s = 0.15;         // shorter segments are clicks
};

/// Speech segments of a clip [S], in time order; boundaries lie on frames.
/// Rules: core/docs/metrics.md, "Voice activity".
std::vector<SpeechSegment> find_speech(const at::Tensor& samples_S, int64_t sample_rate_hz,
                                       const VoiceActivityOptions& options = {});

/// Seconds of speech.
double speech_seconds(const std::vector<SpeechSegment>& segments);

/// Seconds in which both lists have speech.
double overlap_seconds(const std::vector<SpeechSegment>& a, const std::vector<SpeechSegment>& b);

/// Root mean square level of each frame in dB re full scale [T]; a started frame counts as whole.
at::Tensor frame_levels_db(const at::Tensor& samples_S, int64_t samples_per_frame);

}  // namespace s2s
