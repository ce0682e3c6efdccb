#pragma once
// Whether the turns of a dialogue lie where its channels have speech: what swapped channels,
// shifted and incomplete transcripts look like. Reads nothing; works on levels and turns.
// Shape letter: T frames of kTurnFrame_s.

#include <cstdint>
#include <span>
#include <vector>

#include "duplex/speech_activity.h"

namespace s2s::data {

constexpr double kTurnFrame_s = 0.08;
/// The largest shift that is looked for, either way.
constexpr double kLongestShift_s = 5;

/// One channel of a dialogue and the turns of its speaker, seconds on the cut's clock.
struct ChannelTurns {
  std::vector<double> levels_db;  // [T], as centered_levels_db with kTurnFrame_s
  std::vector<SpeechSegment> turns;
};

/// Values are 1 in frames with speech, or with a turn, and 0 elsewhere: [T].
using FrameMask = std::vector<uint8_t>;

/// What one speaker's turns and channel say about each other.
struct SpeakerFit {
  int64_t num_turns = 0;
  double speech_s = 0;  // in the speaker's channel; not the other's, heard through it
  bool fits = false;    // at some shift turns and speech agree well enough to be compared
  double shift_s = 0;   // speech begins so much behind the turns; 0: none that is clear
  /// Whether `untold_s` and the rest could be judged, and whether it is much.
  bool is_told_judged = false;
  bool is_untold = false;
  double untold_s = 0;                              // speech of this speaker alone, without a turn
  double untold_before_s = 0, untold_behind_s = 0;  // of these, outside of the first and last turn
  bool is_empty_judged = false;
  bool is_empty = false;  // much of the turns is silence
  int64_t num_empty_turns = 0;
  double empty_s = 0;
};

enum class ChannelOrder {
  kUnknown,  // nothing fits, or a channel is nothing but noise
  kOwn,      // turns fit their speaker's channel, maybe shifted
  kSwapped,  // turns fit the other speaker's channel, and not their own
  kSame,     // both channels hold the same sound
};

struct TurnFit {
  ChannelOrder order = ChannelOrder::kUnknown;
  SpeakerFit user, agent;  // of kSwapped and kSame: turns are counted, nothing is judged
};

/// Compares the turns with the speech. A channel without a dynamic range (noise, a tone) is not
/// judged, nor is speech that is 10 dB louder in the other channel at the same time (crosstalk).
/// Rules: core/docs/start/data.md, "Turns and speech".
TurnFit fit_turns(const ChannelTurns& user, const ChannelTurns& agent);

/// Correlation of two masks [T], `sounds_T` taken `lag` frames later; 0 where one of them is
/// constant. What a lag moves out of the cut counts as a mismatch.
double mask_correlation(std::span<const uint8_t> turns_T, std::span<const uint8_t> sounds_T,
                        int64_t lag);

/// [T] of stretches in seconds. A frame belongs to a stretch that covers its middle.
FrameMask frame_mask(const std::vector<SpeechSegment>& stretches, size_t num_frames);

}  // namespace s2s::data
