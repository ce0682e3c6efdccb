#include "token_choice.h"

#include <ATen/ATen.h>

namespace s2s::duplex {
namespace {

constexpr int64_t kFirstFrames = 64;

bool guards_repetition(const SamplingOptions& options) {
  return options.repetition_penalty != 1 || options.no_repeat_ngram_size > 0;
}

/// Audio uses the same sampling without repetition penalties, because codes of speech repeat.
/// Another seed makes its random numbers independent of the text channel's.
SamplingOptions of_audio(SamplingOptions options) {
  options.repetition_penalty = 1;
  options.no_repeat_ngram_size = 0;
  options.seed += 1;
  return options;
}

}  // namespace

TokenChoice::TokenChoice(const SamplingOptions& options, const SpecialIds& ids)
    : draws_(options.temperature > 0),
      has_guards_(guards_repetition(options)),
      ids_(ids),
      text_(options),
      audio_(of_audio(options)) {}

at::Tensor TokenChoice::text(const at::Tensor& logits_BV) {
  if (!draws_ && !has_guards_) return logits_BV.argmax(-1);
  const at::Tensor chosen_B = text_.next(logits_BV, words_so_far(logits_BV));
  if (has_guards_) {
    const at::Tensor is_mark =
        chosen_B.eq(ids_.pad).logical_or(chosen_B.eq(ids_.bos)).logical_or(chosen_B.eq(ids_.eos));
    words_BT_.select(1, num_words_).copy_(chosen_B.masked_fill(is_mark, -1));
    ++num_words_;
  }
  return chosen_B;
}

at::Tensor TokenChoice::words_so_far(const at::Tensor& logits_BV) {
  const auto ids = at::TensorOptions(at::kLong).device(logits_BV.device());
  if (!has_guards_) return at::empty({logits_BV.size(0), 0}, ids);
  if (!words_BT_.defined()) words_BT_ = at::empty({logits_BV.size(0), kFirstFrames}, ids);
  if (num_words_ == words_BT_.size(1)) {
    const at::Tensor larger = at::empty({logits_BV.size(0), 2 * num_words_}, ids);
    larger.narrow(1, 0, num_words_).copy_(words_BT_);
    words_BT_ = larger;
  }
  return words_BT_.narrow(1, 0, num_words_);
}

std::vector<at::Generator> TokenChoice::generators(at::Device device) {
  if (!draws_) return {};
  return {text_.generator(device), audio_.generator(device)};
}

at::Tensor TokenChoice::codes(const at::Tensor& logits_BKV) {
  if (!draws_) return logits_BKV.argmax(-1);
  return audio_.next(logits_BKV.flatten(0, 1), {}).view({logits_BKV.size(0), logits_BKV.size(1)});
}

}  // namespace s2s::duplex
