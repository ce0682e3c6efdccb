#pragma once
// NeMo's beam searches. All give the hypotheses of each clip, best first, at least one. Shape
// letters: A clips, T frames, J width of the joint network, V labels and the blank.

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

#include "beam_texts.h"
#include "speech_recognizer_options.h"

namespace s2s::speech_recognizer {

/// The `count` largest of `values`, largest first, with their places. `left_out`: a place that is
/// not taken, -1: none.
std::vector<std::pair<float, int64_t>> largest(const float* values, int64_t size, int64_t count,
                                               int64_t left_out = -1);

/// log(exp(a) + exp(b)).
double log_add(double a, double b);

/// CTC with log-probabilities. Each clip is searched as by itself: NeMo's batched search goes on
/// through the frames after the end of a shorter clip.
/// Source: NeMo ctc_batched_beam_decoding.py, without language models.
std::vector<std::vector<Hypothesis>> ctc_beam_batch(const at::Tensor& log_probs_ATV,
                                                    const std::vector<int64_t>& lengths,
                                                    int64_t blank, const BeamOptions& options);

/// A transducer whose texts are searched.
struct SearchedTransducer {
  TransducerDecoder& decoder;
  const TransducerOptions& options;
  at::Tensor frames_ATJ;  // projected
  std::vector<int64_t> lengths;
};

/// Alignment-length synchronous search of all clips side by side. A TDT model goes on by the index
/// of a duration, as in NeMo.
/// Source: NeMo rnnt_malsd_batched_computer.py, tdt_malsd_batched_computer.py.
std::vector<std::vector<Hypothesis>> malsd_batch(const SearchedTransducer& searched,
                                                 const BeamOptions& options);

/// The basic beam search, text by text. `frames` are those in which labels were found.
/// Source: NeMo rnnt_beam_decoding.py and tdt_beam_decoding.py, default_beam_search.
std::vector<std::vector<Hypothesis>> default_beam(const SearchedTransducer& searched,
                                                  const BeamOptions& options);

/// Modified adaptive expansion search.
/// Source: the same files, modified_adaptive_expansion_search.
std::vector<std::vector<Hypothesis>> maes(const SearchedTransducer& searched,
                                          const BeamOptions& options);

}  // namespace s2s::speech_recognizer
