#pragma once
// The numbers of Full-Duplex-Bench 1.5, as its published scripts compute them: get_timing.py and
// eval_general_before_after.py in v1_v1.5/evaluation of DanielLin94144/Full-Duplex-Bench.

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <vector>

#include "s2s/kinds/scorer.h"
#include "s2s/speech_segment.h"
#include "silero.h"

namespace s2s::turn_taking {

/// Where both speak, and where nobody answers yet.
struct OverlapTiming {
  std::vector<SpeechSegment> stops;      // both speak
  std::vector<SpeechSegment> responses;  // from a user's end to the agent's next onset
};

OverlapTiming overlap_timing(const std::vector<SpeechSegment>& user,
                             const std::vector<SpeechSegment>& agent);

/// The time between words at which the agent's audio is divided, for an overlap that ends at
/// `end_s`.
double split_time_s(const std::vector<RecognizedWord>& words, double end_s);

/// What is measured of the agent's voice before and after an overlap. The names are the script's.
constexpr std::array<const char*, 6> kVoiceNumbers = {
    "wpm", "speech_dur_s", "mean_pitch", "std_pitch", "mean_intensity", "std_intensity"};
using VoiceNumbers = std::array<double, kVoiceNumbers.size()>;

/// Voice activity of these numbers. `path`: of the weights.
SileroOptions before_after_vad(const std::optional<std::string>& path);

/// samples [S] at Silero's rate, not empty; `speech` of them, by before_after_vad.
VoiceNumbers voice_numbers(const at::Tensor& samples_S, const std::vector<SampleSpan>& speech,
                           const std::vector<RecognizedWord>& words);

/// The mean of the values from the 5th to the 95th percentile. NaN without values.
double trimmed_mean(const std::vector<double>& values);

}  // namespace s2s::turn_taking
