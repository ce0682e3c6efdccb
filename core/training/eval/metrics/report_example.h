#pragma once
// One validated dialogue: the user's audio, the reference answer and the model's answer.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/spoken_texts.h"
#include "s2s/kinds/metric.h"

namespace s2s {

/// When a speaker is active in the clips of an example.
struct ExampleSpeech {
  double duration_s = 0;  // of the longest clip
  std::vector<SpeechSegment> user;
  std::optional<std::vector<SpeechSegment>> answer, reference, round_trip;
};

/// All clips start at time 0 of the dialogue. A clip without samples was not produced.
struct ReportExample {
  std::string id;
  std::string data_set;
  int64_t batch = 0;  // index of its batch in the set
  std::vector<Turn> turns;
  SpokenTexts texts;
  std::map<TextSource, std::vector<RecognizedWord>> heard_words;  // if the scorer tells times
  AudioClip user;
  AudioClip answer;     // the model's speech
  AudioClip reference;  // the reference speech of the agent
  // The reference after codec encode and decode: the best result the codec allows.
  AudioClip round_trip;
  std::optional<ExampleSpeech> speech;  // found already, in clips that may not be kept
  double frame_s = 0;                   // of the token channels
  std::vector<TokenMark> answer_tokens;
  std::vector<TokenMark> reference_tokens;
  std::map<std::string, double> numbers;  // further values to list, e.g. text_loss
};

}  // namespace s2s
