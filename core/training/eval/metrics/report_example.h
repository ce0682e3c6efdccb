#pragma once
// One validated dialogue: the user's audio, the reference answer and the model's answer.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/score_board.h"
#include "eval/metrics/voice_activity.h"
#include "s2s/batch.h"
#include "s2s/kinds/scorer.h"

namespace s2s {

/// A token of the text channel in a frame. Silence (PAD) is not listed.
struct TokenMark {
  enum class Kind { kText, kBos, kEos };
  int64_t frame = 0;
  Kind kind = Kind::kText;
  std::string text;  // text to show; a leading blank begins a word
};

/// Speech times of clips that were not kept.
struct SpokenTimes {
  std::vector<SpeechSegment> user;
  std::vector<SpeechSegment> answer;
  double duration_s = 0;  // of the longest clip
};

/// All clips start at time 0 of the dialogue. A clip without samples was not produced.
struct ReportExample {
  std::string id;
  std::string data_set;
  int64_t batch = 0;  // index of its batch in the set
  std::vector<Turn> turns;
  SpokenTexts texts;
  AudioClip user;
  AudioClip answer;     // the model's speech
  AudioClip reference;  // the reference speech of the agent
  // The reference after codec encode and decode: the best result the codec allows.
  AudioClip round_trip;
  std::optional<SpokenTimes> times;  // replaces the clips
  std::vector<TokenMark> answer_tokens;
  std::vector<TokenMark> reference_tokens;
  std::map<std::string, double> numbers;  // further values to list, e.g. text_loss
};

}  // namespace s2s
