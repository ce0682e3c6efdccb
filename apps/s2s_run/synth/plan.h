#pragma once
// Who says what to whom, before anything is spoken: a pure function of the settings.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s_run/synth/domains.h"
#include "s2s_run/synth/speaker.h"

namespace s2s::synth {

enum class Size { kTiny, kQuick, kFull };

/// What `data synth` makes. Two sets with equal options are equal byte for byte.
struct SetOptions {
  Size size = Size::kFull;
  uint64_t seed = 1;
  int64_t sample_rate_hz = kSpeechRateHz;  // of the agent's audio; the user's is 16 kHz
  std::string audio_format = "wav";        // wav or flac, 16 bit
  std::vector<std::string> domains;        // empty: those of the size
};

/// One question as one voice asks it.
struct Question {
  Combination combination;
  size_t phrasing = 0;
  VoiceSetting voice;
  bool pauses = false;  // the user stops for a moment inside the turn
};

struct CutPlan {
  std::string split;  // train, dev, dev_seen, dev_turns
  uint64_t index = 0;
  std::vector<Question> questions;  // one or two
  bool interrupts = false;          // the second question starts while the first answer is spoken
  bool quiet = false;               // a long stretch in which nobody speaks
  int64_t max_frames = 0;           // 0: no limit
};

/// Frames that training cuts never exceed: 10.24 s.
constexpr int64_t kMaxTrainingFrames = 128;

struct SetPlan {
  std::vector<CutPlan> cuts;       // all splits, one after the other
  std::vector<std::string> texts;  // every question and answer that training can contain, once each
};

/// Errors: [synth/domain].
SetPlan make_plan(const SetOptions& options);

/// The hundred voice settings of users: four voices, five pitches, five speeds.
VoiceSetting voice_setting(size_t index);
constexpr size_t kNumVoiceSettings = 100;
/// A fifth of them is never heard in training; every voice, pitch and speed stays.
bool is_held_out_voice(size_t index);

}  // namespace s2s::synth
