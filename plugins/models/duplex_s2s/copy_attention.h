#pragma once
// Lets the text head repeat the user's words. The decoder's last states attend to the words so far,
// and the attended text embeddings are added to the states before the tied head. The model learns
// what to repeat; the attended word is repeated as it is. Source: pointer networks (See, Liu,
// Manning 2017), with embeddings instead of probabilities.

#include "s2s/kinds/backbone.h"
#include "s2s/nn/layers.h"

namespace s2s::duplex_s2s {

/// The user's words, by frame.
struct HeardWords {
  at::Tensor words_BTH;  // expected text embedding, without PAD
  at::Tensor mass_BT;    // probability that a word ends here
  bool defined() const { return words_BTH.defined(); }
  HeardWords narrow(int64_t first, int64_t num_frames) const;
};

class CopyAttention : public Block {
 public:
  CopyAttention(int64_t hidden_size, int64_t key_size);
  ~CopyAttention() override;

  /// Adds the attended words to states [B, T, H]; frame t sees the words up to t. With `state`,
  /// words of earlier calls are also attended to; `rows` are those of the state.
  at::Tensor add_words(const at::Tensor& hidden_BTH, const HeardWords& heard,
                       SequenceState* state = nullptr, const std::vector<int64_t>& rows = {});

 private:
  /// keys [B, S, key + 1] and words [B, S, H]. The last T belong to the states.
  at::Tensor attend(const at::Tensor& hidden_BTH, const at::Tensor& keys, const at::Tensor& words);

  int64_t key_size_;
  Linear query_, key_;
  at::Tensor scale_;    // [1]
  at::Tensor recency_;  // [1], penalty per frame since the word
};

}  // namespace s2s::duplex_s2s
