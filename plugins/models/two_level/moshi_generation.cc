// Moshi's decoding, frame by frame: text, then the codes of the depth decoder, the later books one
// frame behind.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "moshi_model.h"
#include "s2s/nn/eval_scope.h"
#include "s2s/nn/full_precision.h"
#include "streams.h"

namespace s2s::two_level {

at::Tensor MoshiModel::depth_codes(const at::Tensor& state_BH, const at::Tensor& text_B,
                                   TokenChoice& choice) {
  const std::vector<HeadWeight> heads = depth_.lm_heads.heads();
  DepthCache cache;
  cache.layers.resize(static_cast<size_t>(options_.depth_decoder.num_hidden_layers));
  std::vector<at::Tensor> codes;
  at::Tensor previous_B = text_B;
  for (const HeadWeight& head : heads) {
    const at::Tensor state_B1C = depth_(state_BH, {previous_B.unsqueeze(1), &cache});
    previous_B = choice.code(head_logits(state_B1C.squeeze(1), head));
    codes.push_back(previous_B);
  }
  return at::stack(codes, 1);
}

MoshiModel::Spoken MoshiModel::speak(const at::Tensor& user_BKT, const Prompt& prompt) {
  const int64_t width = user_BKT.size(2);
  const at::Tensor nothing_BK1 = no_codes(user_BKT);
  const at::Tensor user_in_BKT = at::cat({nothing_BK1, delayed(user_BKT)}, 2);
  TokenChoice choice(sampling_, parts_.pad);
  KvCache cache(options_.num_hidden_layers);
  SequenceInfo info;
  info.cache = &cache;
  std::vector<at::Tensor> text, late_codes;  // codes as the model says them, with delay
  MoshiStreams last{at::full({user_BKT.size(0), 1}, options_.vocab_size, user_BKT.options()),
                    nothing_BK1,
                    {},
                    {}};
  for (int64_t frame = 0; frame <= width; ++frame) {  // one more for the later books
    last.user_BKT = user_in_BKT.narrow(2, frame, 1);
    const at::Tensor state_BH = decoder_(embed(last), info).squeeze(1);
    const bool is_told = frame < prompt.frames();
    const at::Tensor text_B = is_told ? prompt.text_BT.select(1, frame)
                                      : choice.text(head_logits(state_BH, lm_head_.head()));
    choice.said(text_B);
    at::Tensor codes_BK = depth_codes(state_BH, text_B, choice);
    const int64_t books = codes_BK.size(1);
    if (is_told) codes_BK.select(1, 0).copy_(prompt.own_BKT.select(2, frame).select(1, 0));
    if (frame == 0) {
      codes_BK.narrow(1, 1, books - 1).fill_(options_.audio_vocab_size);
    } else if (frame - 1 < prompt.frames()) {
      codes_BK.narrow(1, 1, books - 1)
          .copy_(prompt.own_BKT.select(2, frame - 1).narrow(1, 1, books - 1));
    }
    text.push_back(text_B);
    late_codes.push_back(codes_BK);
    last.text_BT = text_B.unsqueeze(1);
    last.own_BKT = codes_BK.unsqueeze(2);
  }
  text.pop_back();
  const at::Tensor late_BKT = at::stack(late_codes, 2);
  return {at::stack(text, 1),
          at::cat({late_BKT.narrow(1, 0, 1).narrow(2, 0, width),
                   late_BKT.narrow(1, 1, late_BKT.size(1) - 1).narrow(2, 1, width)},
                  1)};
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
    out.audio_BS = codec().decode(spoken.codes_BKT.contiguous());
    out.audio_lens_B = frames_B * codec().shape().samples_per_frame;
  }
  return out;
}

}  // namespace s2s::two_level
