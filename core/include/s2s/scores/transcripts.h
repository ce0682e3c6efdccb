#pragma once
// What recognizers have in common: the audio that they receive, and words of labels that have
// times. Shape letter: S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "s2s/kinds/scorer.h"

namespace s2s {

/// Each clip as a recognizer receives it: [S] float32 on the CPU, at this rate. Undefined for a
/// clip without sound, which has no samples or only zeros.
std::vector<at::Tensor> heard_samples(const std::vector<AudioClip>& clips, int64_t sample_rate_hz);

/// An id of a text, and where it is in the audio.
struct TimedLabel {
  int64_t id = 0;
  double start_s = 0, end_s = 0;
  std::optional<double> probability;
};

/// The words of labels. Labels are decoded one more at a time: a word begins with the label with
/// which the decoded text has another one, and ends with the last label before the next word. Its
/// confidence is the mean of its labels' probabilities.
std::vector<RecognizedWord> words_of_labels(
    const std::vector<TimedLabel>& labels,
    const std::function<std::string(const std::vector<int64_t>&)>& text_of);

}  // namespace s2s
