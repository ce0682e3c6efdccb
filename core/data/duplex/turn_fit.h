#pragma once
// Compares the turns of a dialogue with the speech in its channels, to find swapped channels, and
// shifted and incomplete transcripts. Reads no files; the input is levels and turns.
// Shape letter: T frames of kTurnFrame_s.

#include <cstdint>
#include <span>
#include <vector>

#include "duplex/speech_activity.h"

namespace s2s::data {

constexpr double kTurnFrame_s = 0.08;
/// The largest shift that is tried, in both directions.
constexpr double kLongestShift_s = 5;

/// One channel of a dialogue and the turns of its speaker, in seconds from the begin of the cut.
struct ChannelTurns {
  std::vector<double> levels_db;  // [T], as centered_levels_db with kTurnFrame_s
  std::vector<SpeechSegment> turns;
};

/// 1 in frames with speech (or with a turn), 0 in other frames: [T].
using FrameMask = std::vector<uint8_t>;

/// How one speaker's turns and channel match.
struct SpeakerFit {
  int64_t num_turns = 0;
  double speech_s = 0;  // in the speaker's channel, without crosstalk from the other speaker
  bool fits = false;    // turns and speech match at some shift
  double shift_s = 0;   // delay of the speech; 0: no clear shift
  /// Whether `unlabeled_s` and the members below could be computed, and whether it is long.
  bool is_unlabeled_judged = false;
  bool is_unlabeled = false;
  double unlabeled_s = 0;  // speech of this speaker alone that has no turn
  /// Its parts outside of the first and last turn.
  double unlabeled_before_s = 0, unlabeled_after_s = 0;
  bool is_empty_judged = false;
  bool is_empty = false;  // a large part of the turns is silence
  int64_t num_empty_turns = 0;
  double empty_s = 0;
};

enum class ChannelOrder {
  kUnknown,  // nothing matches, or a channel has only noise
  kOwn,      // turns match their speaker's channel, maybe shifted
  kSwapped,  // turns match the other speaker's channel and not their own
  kSame,     // both channels have the same sound
};

struct TurnFit {
  ChannelOrder order = ChannelOrder::kUnknown;
  SpeakerFit user, agent;  // for kSwapped and kSame only turns are counted
};

/// Compares turns with speech. A channel without a dynamic range (noise, a tone) is not compared.
/// Speech that is 10 dB louder in the other channel at the same time is ignored as crosstalk.
/// Rules: core/docs/start/data.md, "Turns and speech".
TurnFit fit_turns(const ChannelTurns& user, const ChannelTurns& agent);

/// Correlation of two masks [T], of which `sounds_T` is shifted by `lag` frames; 0 if one of them
/// is constant. Frames that the lag moves out of the cut count as a mismatch.
double mask_correlation(std::span<const uint8_t> turns_T, std::span<const uint8_t> sounds_T,
                        int64_t lag);

/// Returns the mask [T] of time spans in seconds. A frame belongs to a span that covers its center.
FrameMask frame_mask(const std::vector<SpeechSegment>& stretches, size_t num_frames);

}  // namespace s2s::data
