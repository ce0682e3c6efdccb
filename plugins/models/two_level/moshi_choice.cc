#include "moshi_choice.h"

#include <ATen/ATen.h>

namespace s2s::two_level {
namespace {

/// Audio is sampled without repetition penalties, because codes of speech repeat, and with random
/// numbers of its own.
SamplingOptions of_audio(SamplingOptions options) {
  options.repetition_penalty = 1;
  options.no_repeat_ngram_size = 0;
  options.seed += 1;
  return options;
}

at::Tensor no_tokens(const at::Tensor& logits_BV) {
  return at::empty({logits_BV.size(0), 0}, logits_BV.options().dtype(at::kLong));
}

}  // namespace

TokenChoice::TokenChoice(const SamplingOptions& options, int64_t pad)
    : pad_(pad),
      has_guards_(options.repetition_penalty != 1 || options.no_repeat_ngram_size > 0),
      text_(options),
      audio_(of_audio(options)) {}

at::Tensor TokenChoice::text(const at::Tensor& logits_BV) {
  return text_.next(logits_BV, words_.empty() ? no_tokens(logits_BV) : at::stack(words_, 1));
}

void TokenChoice::said(const at::Tensor& text_B) {
  if (has_guards_) words_.push_back(text_B.masked_fill(text_B.eq(pad_), -1));
}

at::Tensor TokenChoice::code(const at::Tensor& logits_BV) {
  return audio_.next(logits_BV, no_tokens(logits_BV));
}

}  // namespace s2s::two_level
