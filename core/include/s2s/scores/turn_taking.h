#pragma once
// Speech in a channel, and turn taking: whether the agent answers in time, stays silent in pauses
// and stops when interrupted. Definitions: core/docs/reference/metrics.md.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "s2s/batch.h"
#include "s2s/speech_segment.h"

namespace s2s {

/// Returns the speech segments of a clip [S] in time order. Boundaries are multiples of 80 ms.
/// Rules: core/docs/reference/metrics.md, "Voice activity".
std::vector<SpeechSegment> find_speech(const at::Tensor& samples_S, int64_t sample_rate_hz);

/// Returns the sum of the lengths.
double speech_seconds(const std::vector<SpeechSegment>& segments);

/// Returns the seconds in which both lists have speech.
double overlap_seconds(const std::vector<SpeechSegment>& a, const std::vector<SpeechSegment>& b);

/// The speech times of one dialogue.
struct DialogueTimes {
  std::vector<Turn> turns;           // the planned turns of both roles
  std::vector<SpeechSegment> user;   // detected on the user's channel
  std::vector<SpeechSegment> agent;  // detected on the agent's channel
  double duration_s = 0;
};

/// Counts of one dialogue, or sums over many.
struct DuplexCounts {
  int64_t turn_ends = 0;            // user turns that want an answer
  int64_t takeovers = 0;            // ... that were answered within the tolerance
  std::vector<double> latencies_s;  // agent's start minus user's end, for every answer
  std::vector<double> onsets_s;  // start times of these answers; for one dialogue only, not summed
  int64_t pauses = 0;
  int64_t pauses_spoken = 0;  // pauses in which the agent began to speak
  int64_t interruptions = 0;  // user turns that began while the agent spoke
  int64_t interruptions_stopped = 0;
  std::vector<double> stop_latencies_s;
  std::vector<double> interrupted_at_s;  // for one dialogue only, not summed
  int64_t false_starts = 0;              // agent utterances without a preceding user turn
  int64_t quiet_stretches = 0;
  int64_t quiet_stretches_spoken = 0;
  double agent_speech_s = 0;
  double overlap_s = 0;
  double duration_s = 0;

  DuplexCounts& operator+=(const DuplexCounts& other);
};

/// Counts one dialogue. Without user turns in `times.turns`, uses the detected user speech.
DuplexCounts count_turn_taking(const DialogueTimes& times);

/// The percentile with linear interpolation, as numpy.percentile. Nothing for an empty list.
std::optional<double> percentile(std::vector<double> values, double percent);

}  // namespace s2s
