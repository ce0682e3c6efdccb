#pragma once
// The auxiliary user-text channel: a linear head on the perception's frames that predicts the
// user's words, and the feedback of its word probabilities to the language model. NeMo's
// speech-to-text model has such a channel; here it is an option, off in the reference mode.

#include <optional>

#include "copy_attention.h"
#include "duplex_options.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/layers.h"

namespace s2s::duplex_s2s {

class UserTextHead : public Block {
 public:
  UserTextHead(int64_t hidden_size, int64_t vocab_size, const UserTextOptions& options);
  ~UserTextHead() override;

  /// Weighted cross entropy summed over the valid frames.
  /// features [B, T, H], labels [B, T] int64, mask [B, T] bool.
  at::Tensor loss_sum(const at::Tensor& features_BTH, const at::Tensor& labels_BT,
                      const at::Tensor& mask_BT, int64_t pad);
  /// The predicted words as input of the language model, without a gradient to head or encoder.
  /// `truth_BT` (int64, may be undefined): ids that replace the prediction if not negative.
  HeardWords words(const at::Tensor& features_BTH, const at::Tensor& embedding_VH,
                   const SpecialIds& ids, const at::Tensor& truth_BT = {});
  /// Null unless the option `copy` is on.
  CopyAttention* copy() { return copy_ ? &*copy_ : nullptr; }
  at::Tensor logits(const at::Tensor& features_BTH) { return head_(features_BTH); }

 private:
  UserTextOptions options_;
  Linear head_;
  std::optional<CopyAttention> copy_;
};

}  // namespace s2s::duplex_s2s
