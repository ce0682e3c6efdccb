#pragma once
// Pitch and intensity of a voice, with Praat's numbers (6.1) and default settings. Source of the
// pitch: P. Boersma, "Accurate short-term analysis of the fundamental frequency and the
// harmonics-to-noise ratio of a sampled sound" (1993).

#include <cstdint>
#include <vector>

namespace s2s::turn_taking {

/// Samples of a voice.
struct VoiceSamples {
  std::vector<double> samples;
  double rate_hz = 0;
};

struct PitchRange {
  double floor_hz = 50;
  double ceiling_hz = 600;
};

/// The pitch of every frame, `step_s` apart; 0: no voice. A voice shorter than three periods of the
/// lowest pitch has no frames.
std::vector<double> praat_pitch_hz(const VoiceSamples& voice, const PitchRange& range,
                                   double step_s);

/// The intensity of every frame in dB, -300 for silence. A voice shorter than 64 ms has no frames.
std::vector<double> praat_intensity_db(const VoiceSamples& voice, double step_s);

}  // namespace s2s::turn_taking
