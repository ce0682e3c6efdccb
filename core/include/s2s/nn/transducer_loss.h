#pragma once
// Losses of speech recognizers. Shape letters: A audios, T frames, U labels of the longest text, V
// labels and the blank, D durations.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace s2s {

/// The frames and the texts of a batch, on the device of the scores.
struct RecognitionTargets {
  at::Tensor labels_AU;  // int64; what is beyond a text counts nothing, whatever its id
  at::Tensor frames_A;   // int64
  at::Tensor lengths_A;  // int64, labels of each text
  int64_t blank = 0;
};

/// How a transducer goes on.
struct TransducerSteps {
  std::vector<int64_t> durations = {};  // of TDT; empty: RNN-T
  double sigma = 0;                     // TDT: every step is less likely by this
};

/// -log of the sum over all paths of each audio [A], float32: from (t, u) a blank goes to (t + d,
/// u), d > 0, and a label to (t + d, u + 1); a path ends with a blank at (T, U). 0, without a
/// gradient, where there is no path. scores: [A, T, U + 1, V + D], not normalized. Gradients are
/// computed in the backward pass from scores alone; nothing else of that size is kept.
/// Source: Graves 2012 (RNN-T), Xu et al. 2023 (TDT); NeMo losses/rnnt_pytorch.py.
at::Tensor transducer_loss(const at::Tensor& scores_ATUV, const RecognitionTargets& targets,
                           const TransducerSteps& steps);

/// The CTC loss of each audio [A], float32; 0, without a gradient, where the text is too long for
/// its frames, unless zero_infinity is false. scores: [A, T, V], not normalized.
at::Tensor ctc_loss(const at::Tensor& scores_ATV, const RecognitionTargets& targets,
                    bool zero_infinity = true);

}  // namespace s2s
