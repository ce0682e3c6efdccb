#include "s2s/nn/token_choice.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace s2s {
namespace {

constexpr int64_t kFirstFrames = 64;

SamplingOptions of_codes(SamplingOptions options) {
  options.repetition_penalty = 1;
  options.no_repeat_ngram_size = 0;
  options.seed += 1;
  return options;
}

/// Calls `use` with the part of each slot in `rows` [B, ...], and joins the results.
template <class Use>
at::Tensor by_slot(const at::Tensor& rows, const std::vector<int64_t>& slots, const Use& use) {
  std::vector<at::Tensor> parts;
  for (int64_t b = 0; b < rows.size(0); ++b) {
    const int64_t slot = slots.empty() ? b : slots[static_cast<size_t>(b)];
    parts.push_back(use(slot, rows.narrow(0, b, 1)));
  }
  return at::cat(parts);
}

}  // namespace

TokenChoice::Stream::Stream(const SamplingOptions& options)
    : draws(options.temperature > 0),
      has_guards(options.repetition_penalty != 1 || options.no_repeat_ngram_size > 0),
      text(options),
      codes(of_codes(options)) {}

TokenChoice::TokenChoice(const SamplingOptions& options, std::vector<int64_t> marks)
    : marks_(std::move(marks)), streams_{Stream(options)} {}

TokenChoice TokenChoice::of_slots(int64_t num_slots, std::vector<int64_t> marks) {
  TokenChoice choice(SamplingOptions(), std::move(marks));
  choice.has_slots_ = true;
  choice.streams_.assign(static_cast<size_t>(num_slots), Stream(SamplingOptions()));
  return choice;
}

void TokenChoice::begin(int64_t slot, const SamplingOptions& options) {
  streams_[static_cast<size_t>(slot)] = Stream(options);
}

TokenChoice::Stream* TokenChoice::shared(const std::vector<int64_t>& slots) {
  if (!has_slots_ || streams_.size() == 1) return &streams_.front();
  const auto is_greedy = [](const Stream& stream) { return !stream.draws && !stream.has_guards; };
  if (slots.empty()) {
    return std::all_of(streams_.begin(), streams_.end(), is_greedy) ? &streams_.front() : nullptr;
  }
  for (const int64_t slot : slots) {
    if (!is_greedy(streams_[static_cast<size_t>(slot)])) return nullptr;
  }
  return &streams_[static_cast<size_t>(slots.front())];
}

at::Tensor TokenChoice::words_so_far(Stream& stream, const at::Tensor& logits_BV) {
  const auto ids = at::TensorOptions(at::kLong).device(logits_BV.device());
  const int64_t rows = logits_BV.size(0);
  if (!stream.has_guards) return at::empty({rows, 0}, ids);
  if (!stream.words_BT.defined()) stream.words_BT = at::empty({rows, kFirstFrames}, ids);
  if (stream.num_words == stream.words_BT.size(1)) {
    const at::Tensor larger = at::empty({rows, 2 * stream.num_words}, ids);
    larger.narrow(1, 0, stream.num_words).copy_(stream.words_BT);
    stream.words_BT = larger;
  }
  return stream.words_BT.narrow(1, 0, stream.num_words);
}

at::Tensor TokenChoice::text_of(Stream& stream, const at::Tensor& logits_BV) {
  if (!stream.draws && !stream.has_guards) return logits_BV.argmax(-1);
  return stream.text.next(logits_BV, words_so_far(stream, logits_BV));
}

at::Tensor TokenChoice::text(const at::Tensor& logits_BV, const std::vector<int64_t>& slots) {
  if (Stream* const stream = shared(slots)) return text_of(*stream, logits_BV);
  return by_slot(logits_BV, slots, [&](int64_t slot, const at::Tensor& own) {
    return text_of(streams_[static_cast<size_t>(slot)], own);
  });
}

void TokenChoice::keep(Stream& stream, const at::Tensor& text_B) const {
  if (!stream.has_guards) return;
  at::Tensor is_mark = at::zeros_like(text_B, at::kBool);
  for (const int64_t mark : marks_) is_mark = is_mark.logical_or(text_B.eq(mark));
  words_so_far(stream, text_B.unsqueeze(1));  // makes room
  stream.words_BT.select(1, stream.num_words).copy_(text_B.masked_fill(is_mark, -1));
  ++stream.num_words;
}

void TokenChoice::said(const at::Tensor& text_B, const std::vector<int64_t>& slots) {
  if (Stream* const stream = shared(slots)) return keep(*stream, text_B);
  for (int64_t b = 0; b < text_B.size(0); ++b) {
    const int64_t slot = slots.empty() ? b : slots[static_cast<size_t>(b)];
    keep(streams_[static_cast<size_t>(slot)], text_B.narrow(0, b, 1));
  }
}

at::Tensor TokenChoice::codes_of(Stream& stream, const at::Tensor& logits) {
  if (!stream.draws) return logits.argmax(-1);
  const at::Tensor rows = logits.flatten(0, -2);
  return stream.codes.next(rows, {}).view(logits.sizes().slice(0, logits.dim() - 1));
}

at::Tensor TokenChoice::codes(const at::Tensor& logits, const std::vector<int64_t>& slots) {
  if (Stream* const stream = shared(slots)) return codes_of(*stream, logits);
  return by_slot(logits, slots, [&](int64_t slot, const at::Tensor& own) {
    return codes_of(streams_[static_cast<size_t>(slot)], own);
  });
}

bool TokenChoice::steps_repeat() const {
  return streams_.size() == 1 && !streams_.front().has_guards;
}

std::vector<at::Generator> TokenChoice::generators(at::Device device) {
  Stream& stream = streams_.front();
  if (!stream.draws) return {};
  return {stream.text.generator(device), stream.codes.generator(device)};
}

}  // namespace s2s
