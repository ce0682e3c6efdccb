#pragma once
// What the networks of a transducer say of texts, one frame after the other. Shape letters as in
// beam_search.h; N texts, D durations.

#include <ATen/core/Tensor.h>

#include <unordered_map>
#include <vector>

#include "beam_search.h"

namespace s2s::speech_recognizer {

class TextScores {
 public:
  /// temperature: scores are divided by it.
  TextScores(const SearchedTransducer& searched, int64_t clip, double temperature);

  BeamTexts texts;

  /// Log-probabilities of what follows a text in a frame.
  struct Row {
    std::vector<float> labels, durations;
  };
  std::vector<Row> rows(int64_t frame, const std::vector<int64_t>& of_texts);
  Row row(int64_t frame, int64_t text) { return std::move(rows(frame, {text}).front()); }
  /// The network's memory stays only of these texts, and of so many labels before each.
  void keep(const std::vector<int64_t>& of_texts, int64_t labels_before);

 private:
  /// Runs the prediction network for texts that it was not run for.
  void run(const std::vector<int64_t>& of_texts);

  const SearchedTransducer& searched_;
  at::Tensor frames_TJ_;
  double temperature_;
  std::unordered_map<int64_t, TransducerDecoder::State> states_;  // of texts, a row each
};

}  // namespace s2s::speech_recognizer
