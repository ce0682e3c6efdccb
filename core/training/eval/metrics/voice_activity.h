#pragma once
// Detects speech in a channel by its energy.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "duplex/speech_activity.h"

namespace s2s {

/// Returns the speech segments of a clip [S] in time order. Boundaries are multiples of a frame.
/// Rules: core/docs/reference/metrics.md, "Voice activity".
std::vector<SpeechSegment> find_speech(const at::Tensor& samples_S, int64_t sample_rate_hz,
                                       const VoiceActivityOptions& options = {});

double speech_seconds(const std::vector<SpeechSegment>& segments);

/// Returns the seconds in which both lists have speech.
double overlap_seconds(const std::vector<SpeechSegment>& a, const std::vector<SpeechSegment>& b);

}  // namespace s2s
