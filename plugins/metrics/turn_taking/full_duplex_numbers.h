#pragma once
// The numbers of Full-Duplex-Bench 1.0, as its published scripts compute them. Sources:
// v1_v1.5/evaluation of DanielLin94144/Full-Duplex-Bench.

#include <optional>
#include <vector>

#include "s2s/kinds/scorer.h"
#include "s2s/speech_segment.h"
#include "silero.h"

namespace s2s::turn_taking {

/// Whether what was heard is a turn: it lasts a second, or has more than three words.
bool takes_turn(const std::vector<RecognizedWord>& words);

/// Words that end after `time_s`, without what is before it.
std::vector<RecognizedWord> words_after(const std::vector<RecognizedWord>& words, double time_s);

/// Seconds in tenths, as get_speech_timestamps of silero-vad gives them.
std::vector<SpeechSegment> in_tenths(const std::vector<SampleSpan>& spans, int64_t num_samples);

struct Backchannels {
  bool takes_turn = false;
  std::vector<SpeechSegment> segments;  // those that count as one
};

/// Goes through the speech of a listener, with tenths of seconds as in_tenths gives them.
Backchannels find_backchannels(const std::vector<SpeechSegment>& speech,
                               const std::vector<RecognizedWord>& words);

/// The Jensen-Shannon distance (natural logarithm) of when backchannels are, in steps of 0.2 s, to
/// `expected`, which has at least two numbers and is stretched to the clip. 1 without any.
double backchannel_distance(const std::vector<SpeechSegment>& backchannels, double duration_s,
                            const std::vector<double>& expected);

}  // namespace s2s::turn_taking
