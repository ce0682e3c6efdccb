#pragma once
// How sure a greedy search is of labels and words, as NeMo's confidence_cfg computes it. Shape
// letters: A clips, T frames, J width of the joint network, V labels and the blank.

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "beam_search.h"

namespace s2s::speech_recognizer {

/// Log-probabilities [..., V] -> [...], from 0 to 1. num_labels: so many labels a probability of
/// chance belongs to.
/// Source: NeMo asr_confidence_utils.py get_confidence_measure_bank.
at::Tensor confidence_of(const at::Tensor& log_probs, const ConfidenceMethodOptions& method,
                         int64_t num_labels);

/// mean, min, max or prod of numbers, of which there is one at least.
double aggregated(const std::vector<double>& values, const std::string& aggregation);

/// Of each label that ctc_search found. Source: NeMo ctc_decoding.py compute_confidence.
std::vector<std::vector<double>> ctc_confidences(const at::Tensor& log_probs_ATV,
                                                 const std::vector<FoundLabels>& found,
                                                 const std::vector<int64_t>& lengths,
                                                 const ConfidenceOptions& options);

/// Of each label that TransducerDecoder::search found. Source: NeMo rnnt_decoding.py
/// compute_confidence.
std::vector<std::vector<double>> transducer_confidences(const SearchedTransducer& searched,
                                                        const std::vector<FoundLabels>& found,
                                                        const ConfidenceOptions& options);

/// The labels [first, last) of each word. `pieces`: the texts of labels; a word begins with
/// "\u2581" or after a space, and `unknown` is a word of its own.
std::vector<std::pair<size_t, size_t>> word_labels(const std::vector<std::string>& pieces,
                                                   const std::string& unknown);

}  // namespace s2s::speech_recognizer
