#pragma once
// Plans the dialogues before synthesis. A pure function of the options.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s_run/synth/domains.h"
#include "s2s_run/synth/speaker.h"

namespace s2s::synth {

enum class Size { kTiny, kQuick, kFull };

/// Options of `data synth`. Sets with equal options are identical byte for byte.
struct SetOptions {
  Size size = Size::kFull;
  uint64_t seed = 1;
  int64_t sample_rate_hz = kSpeechRateHz;  // agent audio; user audio has 16 kHz
  std::string audio_format = "wav";        // wav or flac, 16 bit
  std::vector<std::string> domains;        // empty: the default of the size
  std::string kind = "speech";             // or text, which has size and seed only
};

/// One question, spoken by one voice.
struct Question {
  Combination combination;
  size_t phrasing = 0;
  VoiceSetting voice;
  bool pauses = false;  // the user pauses within the turn
};

struct CutPlan {
  std::string split;  // train, dev, dev_seen, dev_turns
  uint64_t index = 0;
  std::vector<Question> questions;  // one or two
  bool interrupts = false;          // the second question starts while the first answer is spoken
  bool quiet = false;               // contains a long silence
  int64_t max_frames = 0;           // 0: no limit
};

/// Maximum length of training cuts: 10.24 s.
constexpr int64_t kMaxTrainingFrames = 128;

struct SetPlan {
  std::vector<CutPlan> cuts;       // all splits in sequence
  std::vector<std::string> texts;  // all questions and answers of training, without duplicates
};

/// Errors: [synth/domain].
SetPlan make_plan(const SetOptions& options);

/// One of the 100 voice settings of users: four voices, five pitches, five speeds.
VoiceSetting voice_setting(size_t index);
constexpr size_t kNumVoiceSettings = 100;
/// True for a fifth of the settings, which are not used in training. Training still has every
/// voice, pitch and speed.
bool is_held_out_voice(size_t index);

}  // namespace s2s::synth
