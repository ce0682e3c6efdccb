#pragma once
// Turn-taking metrics: whether the agent answers in time, stays silent in pauses and stops when
// interrupted. Definitions: core/docs/reference/metrics.md, "Turn taking".

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/voice_activity.h"
#include "s2s/batch.h"

namespace s2s {

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

/// Scores for a table. A score without any occasion to measure it is not set.
struct DuplexScores {
  std::optional<double> takeover_rate;
  std::optional<double> latency_median_s, latency_p90_s, latency_negative_share;
  std::optional<double> pause_rate;  // share of pauses in which the agent began to speak
  std::optional<double> stop_rate, stop_latency_median_s, stop_latency_p90_s;
  std::optional<double> false_start_rate;  // share of quiet stretches
  std::optional<double> agent_speech_ratio, overlap_ratio;
};

DuplexScores duplex_scores(const DuplexCounts& counts);

/// Returns one JSON object with the scores (null when not set) and the counts.
nlohmann::ordered_json to_json(const DuplexCounts& counts);

/// The percentile with linear interpolation, as numpy.percentile. Nothing for an empty list.
std::optional<double> percentile(std::vector<double> values, double percent);

}  // namespace s2s
