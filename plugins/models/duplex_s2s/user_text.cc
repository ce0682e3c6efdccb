#include "user_text.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "s2s/nn/losses.h"

namespace s2s::duplex_s2s {

UserTextHead::UserTextHead(int64_t hidden_size, int64_t vocab_size, const UserTextOptions& options)
    : options_(options), head_(hidden_size, vocab_size) {
  register_block("head", head_);
  if (!options_.copy) return;
  copy_.emplace(hidden_size, options_.copy_key_size);
  register_block("copy", *copy_);
}

UserTextHead::~UserTextHead() = default;

at::Tensor UserTextHead::loss_sum(const at::Tensor& features_BTH, const at::Tensor& labels_BT,
                                  const at::Tensor& mask_BT, int64_t pad) {
  const at::Tensor weights =
      at::where(labels_BT.eq(pad), 1.0, options_.non_pad_weight).to(at::kFloat) * mask_BT;
  return linear_cross_entropy(features_BTH.flatten(0, 1), head_.head(), labels_BT.reshape({-1, 1}),
                              weights.reshape({-1, 1}));
}

HeardWords UserTextHead::words(const at::Tensor& features_BTH, const at::Tensor& embedding_VH,
                               const SpecialIds& ids, const at::Tensor& truth_BT) {
  at::Tensor heard;
  {
    const at::NoGradGuard no_grad;
    heard = at::softmax(head_(features_BTH).to(at::kFloat), -1);
    if (truth_BT.defined()) {
      const at::Tensor words = at::one_hot(truth_BT.clamp_min(0), heard.size(-1)).to(at::kFloat);
      heard = at::where(truth_BT.lt(0).unsqueeze(-1), heard, words);
    }
    for (const int64_t silent : {ids.pad, ids.bos, ids.eos}) heard.select(-1, silent).zero_();
  }
  return {at::matmul(heard.to(embedding_VH.scalar_type()), embedding_VH), heard.sum(-1)};
}

}  // namespace s2s::duplex_s2s
