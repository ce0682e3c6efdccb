#pragma once
// Turn taking: does the agent answer in time, keep quiet in pauses, stop when interrupted?
// Definitions: core/docs/reference/metrics.md, "Turn taking".

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/voice_activity.h"
#include "s2s/batch.h"

namespace s2s {

/// Who spoke when in one dialogue.
struct DialogueTimes {
  std::vector<Turn> turns;           // what was meant to happen, both roles
  std::vector<SpeechSegment> user;   // heard on the user's channel
  std::vector<SpeechSegment> agent;  // heard on the agent's channel
  double duration_s = 0;
};

/// Counts of one dialogue, or of many added up.
struct DuplexCounts {
  int64_t turn_ends = 0;            // user turns that want an answer
  int64_t takeovers = 0;            // ... that got one within the tolerance
  std::vector<double> latencies_s;  // agent's onset less user's end, for every answer
  std::vector<double> onsets_s;     // when these answers began; of one dialogue, not added up
  int64_t pauses = 0;
  int64_t pauses_spoken = 0;  // pauses in which the agent began to speak
  int64_t interruptions = 0;  // user turns that began while the agent spoke
  int64_t interruptions_stopped = 0;
  std::vector<double> stop_latencies_s;
  std::vector<double> interrupted_at_s;  // of one dialogue, not added up
  int64_t false_starts = 0;              // utterances that nobody asked for
  int64_t quiet_stretches = 0;
  int64_t quiet_stretches_spoken = 0;
  double agent_speech_s = 0;
  double overlap_s = 0;
  double duration_s = 0;

  DuplexCounts& operator+=(const DuplexCounts& other);
};

/// Counts of one dialogue. Without user turns in `times.turns`, the user's speech stands for them.
DuplexCounts count_turn_taking(const DialogueTimes& times);

/// Numbers for a table; nothing where there was no occasion.
struct DuplexScores {
  std::optional<double> takeover_rate;
  std::optional<double> latency_median_s, latency_p90_s, latency_negative_share;
  std::optional<double> pause_rate;  // share of pauses in which the agent began to speak
  std::optional<double> stop_rate, stop_latency_median_s, stop_latency_p90_s;
  std::optional<double> false_start_rate;  // share of quiet stretches
  std::optional<double> agent_speech_ratio, overlap_ratio;
};

DuplexScores duplex_scores(const DuplexCounts& counts);

/// One JSON object with the scores (null: no occasion) and the counts behind them.
nlohmann::ordered_json to_json(const DuplexCounts& counts);

/// Linear interpolation between the closest ranks, as numpy.percentile; nothing when empty.
std::optional<double> percentile(std::vector<double> values, double percent);

}  // namespace s2s
