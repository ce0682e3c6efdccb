// Moshi's decoding, frame by frame: text, then codes. The later books are one frame late.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "moshi_conversation.h"
#include "s2s/nn/eval_scope.h"
#include "s2s/nn/full_precision.h"
#include "streams.h"

namespace s2s::two_level {

at::Tensor MoshiModel::depth_codes(const at::Tensor& state_BH, const at::Tensor& text_B,
                                   TokenChoice& choice, const std::vector<int64_t>& slots) {
  const std::vector<HeadWeight> heads = depth_.lm_heads.heads();
  DepthCache cache;
  cache.layers.resize(static_cast<size_t>(options_.depth_decoder.num_hidden_layers));
  std::vector<at::Tensor> codes;
  at::Tensor previous_B = text_B;
  for (const HeadWeight& head : heads) {
    const at::Tensor state_B1C = depth_(state_BH, {previous_B.unsqueeze(1), &cache});
    previous_B = choice.codes(head_logits(state_B1C.squeeze(1), head), slots);
    codes.push_back(previous_B);
  }
  return at::stack(codes, 1);
}

MoshiModel::Spoken MoshiModel::speak(const at::Tensor& user_BKT, const Prompt& prompt) {
  Conversation conversation(*this, user_BKT.size(0), user_BKT.device(), prompt);
  std::vector<at::Tensor> text, codes;
  for (int64_t t = 0; t < user_BKT.size(2); ++t) {
    const Conversation::Frame frame = conversation.answer(user_BKT.select(2, t));
    text.push_back(frame.text_B);
    codes.push_back(frame.codes_BK);
  }
  return {at::stack(text, 1), at::stack(codes, 2)};
}

Generation MoshiModel::generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                                bool decode_audio) {
  const at::NoGradGuard no_grad;
  const EvalScope eval(*this);
  Batch heard;
  heard.source_audio_BS = audio_BS;
  heard.source_audio_lens_B = lengths_B;
  at::Tensor frames_B;
  const Spoken spoken = speak(user_codes(heard, frames_B), {});
  Generation out;
  out.tokens_text_BT = spoken.text_BT;
  out.tokens_audio_BTK = spoken.codes_BKT.transpose(1, 2);
  out.token_lens_B = frames_B;
  if (parts_.tokenizer != nullptr) out.text = texts_of(spoken.text_BT, frames_B, tokenizer());
  if (decode_audio) {
    const FullPrecision full_precision;
    out.audio_BS = codec().decode(
        codec_codes(spoken.codes_BKT, codec().silence_codes(), codec().shape().codebook_size));
    out.audio_lens_B = frames_B * codec().shape().samples_per_frame;
  }
  return out;
}

}  // namespace s2s::two_level
