#pragma once
// Texts that a beam search of one clip follows.

#include <vector>

#include "text_scores.h"

namespace s2s::speech_recognizer {

struct OpenText {
  BeamTexts::Place place;
  double score = 0;
  int64_t frame = 0;  // the one that comes next
};
using OpenTexts = std::vector<OpenText>;

/// Those of one frame, taken out of `open`.
OpenTexts taken_of_frame(int64_t frame, OpenTexts& open);
/// Best first, at most `count`.
OpenTexts best_of(OpenTexts open, int64_t count);
/// Best first; equal texts that go on with one frame become one, with the sum of their
/// probabilities.
OpenTexts merged(const OpenTexts& open);
/// As NeMo's sort_nbest orders them.
std::vector<Hypothesis> hypotheses_of(const OpenTexts& open, const BeamTexts& texts,
                                      bool score_norm);
std::vector<int64_t> texts_of_open(const OpenTexts& open);
/// Of a TDT model: the place of its smallest duration above 0.
size_t smallest_step(const std::vector<int64_t>& durations);

}  // namespace s2s::speech_recognizer
