// Random batches for tune-batch: noise as audio, and one agent turn over nearly the whole row, so
// that every frame has a weight.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "duplex_model.h"

namespace s2s::duplex_s2s {
namespace {

at::Tensor text_channel(const ProbeBatch& shape, double frame_length_s,
                        const Tokenizer& tokenizer) {
  const SpecialIds& ids = tokenizer.special_ids();
  const auto frames =
      std::max<int64_t>(4, static_cast<int64_t>(std::ceil(shape.duration_s / frame_length_s)));
  const int64_t room = frames - 3;
  const int64_t words = shape.tokens > 0 ? std::min(shape.tokens, room) : room;
  at::Tensor tokens = at::full({shape.rows, frames}, ids.pad, at::kLong);
  tokens.select(1, 1).fill_(ids.bos);
  tokens.narrow(1, 2, words).random_(0, tokenizer.vocab_size());
  tokens.select(1, frames - 1).fill_(ids.eos);
  return tokens;
}

}  // namespace

Batch DuplexModel::probe_batch(const ProbeBatch& shape) {
  Batch batch;
  const auto samples_of = [&shape](int64_t rate_hz) {
    return std::max<int64_t>(1, std::llround(shape.duration_s * static_cast<double>(rate_hz)));
  };
  const int64_t heard = samples_of(source_sample_rate_hz());
  const int64_t spoken = samples_of(codec().shape().sample_rate_hz);
  batch.source_audio_BS = at::randn({shape.rows, heard}) * 0.1;
  batch.source_audio_lens_B = at::full({shape.rows}, heard, at::kLong);
  batch.target_audio_BS = at::randn({shape.rows, spoken}) * 0.1;
  batch.target_audio_lens_B = at::full({shape.rows}, spoken, at::kLong);
  batch.target_tokens_BT = text_channel(shape, frame_length_s(), tokenizer());
  batch.target_token_lens_B = at::full({shape.rows}, batch.target_tokens_BT.size(1), at::kLong);
  batch.source_tokens_BT = batch.target_tokens_BT.clone();
  batch.source_token_lens_B = batch.target_token_lens_B.clone();
  batch.ids.assign(static_cast<size_t>(shape.rows), "random");
  return batch;
}

}  // namespace s2s::duplex_s2s
