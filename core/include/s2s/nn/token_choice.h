#pragma once
// Chooses the tokens of a model that speaks: of a text channel and of codebooks, greedily or by
// sampling. Shape letters: B rows of a step, K codebooks, V vocabulary of a channel.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "s2s/nn/token_sampling.h"

namespace s2s {

/// Chooses frame by frame, for one batch with one stream of random numbers, or for slots with a
/// stream and options of their own. Repetition penalties apply only to words, because PAD fills
/// most frames and every turn has a BOS and an EOS; and not to codes, because those of speech
/// repeat. Codes have random numbers of their own.
class TokenChoice {
 public:
  /// For a batch. `marks`: ids of the text channel that are no words.
  TokenChoice(const SamplingOptions& options, std::vector<int64_t> marks);
  /// For `num_slots` slots, which choose greedily until `begin`.
  static TokenChoice of_slots(int64_t num_slots, std::vector<int64_t> marks);
  /// Begins a conversation in a slot.
  void begin(int64_t slot, const SamplingOptions& options);

  /// Text logits [B, V] -> [B] int64. `slots`: those of the rows; empty: all, or the batch.
  at::Tensor text(const at::Tensor& logits_BV, const std::vector<int64_t>& slots = {});
  /// What the text channel says, [B] int64: what later penalties look at.
  void said(const at::Tensor& text_B, const std::vector<int64_t>& slots = {});
  /// Logits of one book [B, V] -> [B], or of all [B, K, V] -> [B, K].
  at::Tensor codes(const at::Tensor& logits, const std::vector<int64_t>& slots = {});

  /// True if every frame launches the same work. Penalties look at more words from frame to frame.
  bool steps_repeat() const;
  /// The random streams that frames draw from.
  std::vector<at::Generator> generators(at::Device device);

 private:
  /// The choice of one batch, or of one slot.
  struct Stream {
    explicit Stream(const SamplingOptions& options);
    bool draws, has_guards;  // not greedy; repetition penalties are on
    Sampler text, codes;
    at::Tensor words_BT;  // -1 for marks; only with penalties; doubled when full
    int64_t num_words = 0;
  };
  /// The only stream, if all rows of a step can be chosen at once.
  Stream* shared(const std::vector<int64_t>& slots);
  static at::Tensor words_so_far(Stream& stream, const at::Tensor& logits_BV);
  static at::Tensor text_of(Stream& stream, const at::Tensor& logits_BV);
  static at::Tensor codes_of(Stream& stream, const at::Tensor& logits);
  void keep(Stream& stream, const at::Tensor& text_B) const;

  std::vector<int64_t> marks_;
  bool has_slots_ = false;
  std::vector<Stream> streams_;
};

}  // namespace s2s
