#pragma once
// One validated dialogue: what was said to the model, what it should and what it did answer.

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

/// A token of a text channel on its frame. Silence (PAD) is not listed.
struct TokenMark {
  enum class Kind { kText, kBos, kEos };
  int64_t frame = 0;
  Kind kind = Kind::kText;
  std::string text;  // as a reader should see it; a leading blank begins a word
};

/// Who spoke when, of clips that were not kept.
struct SpokenTimes {
  std::vector<SpeechSegment> user;
  std::vector<SpeechSegment> answer;
  double duration_s = 0;  // of the longest clip
};

/// All clips start at the dialogue's time 0. A clip without samples was not made.
struct ReportExample {
  std::string id;
  std::string data_set;
  int64_t batch = 0;  // that held it, in the order of the set
  std::vector<Turn> turns;
  SpokenTexts texts;
  AudioClip user;
  AudioClip answer;      // what the model said
  AudioClip reference;   // what the agent should have said
  AudioClip round_trip;  // the reference through the codec: the best that the codec allows
  std::optional<SpokenTimes> times;  // in place of the clips
  std::vector<TokenMark> answer_tokens;
  std::vector<TokenMark> reference_tokens;
  std::map<std::string, double> numbers;  // further numbers to list, e.g. text_loss
};

}  // namespace s2s
