#pragma once
// The numbers of the package voicebench 0.2.0, as its vad.py and metrics.py compute them.

#include <cstdint>
#include <optional>
#include <vector>

#include "s2s/kinds/scorer.h"
#include "s2s/speech_segment.h"
#include "turn_taking_options.h"

namespace s2s::turn_taking {

/// A mono track.
struct VoicebenchTrack {
  std::vector<float> samples;
  int64_t sample_rate_hz = 0;

  double duration_s() const;
};

/// A clip at another rate, by linear interpolation as in the package.
VoicebenchTrack voicebench_track(const AudioClip& clip, int64_t sample_rate_hz);

/// Where the level of a track tells speech.
std::vector<SpeechSegment> voicebench_speech(const VoicebenchTrack& track,
                                             const VoicebenchVadOptions& options);

/// What the agent is to do about a turn of the user.
enum class Expect { kRespond, kStop, kIgnore };

struct VoicebenchTurn {
  Expect expect = Expect::kRespond;
  double start_s = 0;
  double end_s = 0;
};

/// One dialogue. Both tracks have the same length.
struct VoicebenchSession {
  VoicebenchTrack user, agent;
  std::vector<SpeechSegment> user_speech, agent_speech;
  std::vector<VoicebenchTurn> turns;  // of the user, in time order
  double response_timeout_ms = 5000;
  double max_stop_ms = 1000;
};

/// What was measured of a turn. Times are rounded to tenths of a millisecond.
struct VoicebenchTurnResult {
  Expect expect = Expect::kRespond;
  bool responded = false;
  bool talk_over = false;
  bool stopped = false;
  bool false_barge_in = false;
  bool spurious_response = false;
  bool passed = false;
  std::optional<double> response_latency_ms, ttfa_ms, stop_latency_ms;
};

struct VoicebenchResult {
  std::vector<VoicebenchTurnResult> turns;
  double overlap_ms = 0;    // both speak
  double talk_over_ms = 0;  // ... in turns that want an answer
};

/// The agent's speech that runs when the user's speech in a turn begins. Null: none does, or the
/// user's channel is silent in the turn.
const SpeechSegment* voicebench_interrupted(const VoicebenchSession& session,
                                            const VoicebenchTurn& turn);

/// Measures a dialogue. Each stretch of `packet_ms` of the agent's audio is a packet.
VoicebenchResult voicebench_analyze(const VoicebenchSession& session, double packet_ms);

/// A list's count, least, median, 90th percentile, largest and mean, rounded to tenths.
struct VoicebenchStats {
  int64_t count = 0;
  std::optional<double> min, p50, p90, max, mean;
};
VoicebenchStats voicebench_stats(const std::vector<double>& values);

}  // namespace s2s::turn_taking
