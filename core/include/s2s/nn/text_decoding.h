#pragma once
// Continues prompts with text: greedily, by sampling, or by beam search. Models that write text
// share it. Shape letters: B rows, T positions of a prompt, H hidden, V vocabulary.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "s2s/kinds/backbone.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/token_sampling.h"

namespace s2s {

/// A prompt as the language model receives it.
struct PromptEmbeddings {
  at::Tensor x_TH;           // T > 0
  std::vector<int64_t> ids;  // per position, for repetition penalties; -1: no token. May be empty.
};

/// When a decoding ends, and how tokens are chosen.
struct TextDecoding {
  int64_t max_new_tokens = 128;
  std::vector<int64_t> end_tokens;
  SamplingOptions sampling;
  int64_t num_beams = 1;      // above 1: beam search, which does not sample
  double length_penalty = 1;  // of beam search: scores are divided by length to this power
  /// Returns true when these new tokens end the answer. May be empty.
  std::function<bool(const std::vector<int64_t>&)> is_stopped = {};
  std::function<bool(bool is_open)> goes_on = {};  // TextGenerationOptions::goes_on
};

/// The new tokens of each prompt, the one that ended it included. Rows of different lengths are one
/// batch without padding: a row whose prompt is longer receives the rest of it while others already
/// answer. Beam search takes the prompts one by one.
/// Source: transformers generation/utils.py, _sample and _beam_search (early_stopping false).
std::vector<std::vector<int64_t>> decode_text(Backbone& llm,
                                              const std::vector<PromptEmbeddings>& prompts,
                                              const TextDecoding& decoding);

/// decode_text, with stop texts and decoded answers. `end_tokens`: all ids that end an answer.
std::vector<TextAnswer> answer_texts(Backbone& llm, const std::vector<PromptEmbeddings>& prompts,
                                     const TextGenerationOptions& options,
                                     const std::vector<int64_t>& end_tokens,
                                     const SamplingOptions& sampling, const Tokenizer& tokenizer);

}  // namespace s2s
