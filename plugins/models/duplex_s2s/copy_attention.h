#pragma once
// A way for the text head to repeat what the user said: attention from the decoder's last states
// over the words heard so far, whose text embeddings are added to the state before the tied head.
// What to repeat is learned; that a repeated word is the same word is built in. Source: pointer
// networks (See, Liu, Manning 2017), here with embeddings instead of probabilities.

#include "s2s/kinds/backbone.h"
#include "s2s/nn/layers.h"

namespace s2s::duplex {

/// The user's words on their frames.
struct HeardWords {
  at::Tensor words_BTH;  // expected text embedding, PAD left out
  at::Tensor mass_BT;    // probability that a word ends here
  bool defined() const { return words_BTH.defined(); }
  HeardWords narrow(int64_t first, int64_t num_frames) const;
};

class CopyAttention : public Block {
 public:
  CopyAttention(int64_t hidden_size, int64_t key_size);
  ~CopyAttention() override;

  /// States [B, T, H] with the words of the same frames added; frame t sees the words up to t.
  /// With `cache`, the words are appended to those of earlier calls, T frames at a time.
  at::Tensor add_words(const at::Tensor& hidden_BTH, const HeardWords& heard,
                       KvCache* cache = nullptr);

 private:
  int64_t key_size_;
  Linear query_, key_;
  at::Tensor scale_;    // [1]
  at::Tensor recency_;  // [1], what a word loses for each frame that passes
};

}  // namespace s2s::duplex
