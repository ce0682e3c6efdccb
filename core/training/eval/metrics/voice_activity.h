#pragma once
// Finds speech in a channel from its energy.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "duplex/speech_activity.h"

namespace s2s {

/// Speech segments of a clip [S], in time order; boundaries lie on frames.
/// Rules: core/docs/reference/metrics.md, "Voice activity".
std::vector<SpeechSegment> find_speech(const at::Tensor& samples_S, int64_t sample_rate_hz,
                                       const VoiceActivityOptions& options = {});

/// Seconds of speech.
double speech_seconds(const std::vector<SpeechSegment>& segments);

/// Seconds in which both lists have speech.
double overlap_seconds(const std::vector<SpeechSegment>& a, const std::vector<SpeechSegment>& b);

}  // namespace s2s
