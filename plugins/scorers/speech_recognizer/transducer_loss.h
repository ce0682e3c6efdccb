#pragma once
// Losses of transducers, to compare with other programs. They are not trained with.

#include <ATen/core/Tensor.h>

#include <vector>

namespace s2s::speech_recognizer {

/// What a loss reads of one audio. Shape letters: T frames, U labels, V labels and the blank, D
/// durations.
struct TransducerRow {
  at::Tensor scores_TUV;        // [T, U + 1, V + D], not normalized
  std::vector<int64_t> labels;  // U
  int64_t blank = 0;
  std::vector<int64_t> durations;  // empty: RNN-T
  double sigma = 0;                // TDT: every step is less likely by this
};

/// -log of the sum over all paths: from (t, u) a blank goes to (t + d, u), d > 0, and a label to
/// (t + d, u + 1); a path ends with a blank at (T, U).
/// Source: Graves 2012 (RNN-T), Xu et al. 2023 (TDT).
double transducer_loss(const TransducerRow& row);

}  // namespace s2s::speech_recognizer
