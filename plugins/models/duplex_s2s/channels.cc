#include "channels.h"

#include <ATen/ATen.h>

namespace s2s::duplex_s2s {

Channels make_channels(const at::Tensor& tokens_BT, const at::Tensor& codes_BTK,
                       const SpecialIds& text, const SpeechIds& speech) {
  const int64_t width = tokens_BT.size(1);
  const at::Tensor tokens_BT1 = tokens_BT.unsqueeze(-1);
  at::Tensor codes = at::where(tokens_BT1.eq(text.bos), speech.bos, codes_BTK);
  codes = at::where(tokens_BT1.eq(text.eos), speech.eos, codes);
  const at::Tensor first = at::full_like(codes.narrow(1, 0, 1), speech.delay);
  codes = at::cat({first, codes.narrow(1, 0, width - 1)}, 1);
  return {tokens_BT.narrow(1, 0, width - 1), codes.narrow(1, 0, width - 1),
          tokens_BT.narrow(1, 1, width - 1), codes.narrow(1, 1, width - 1)};
}

at::Tensor agent_turn_mask(const at::Tensor& tokens_BT, const SpecialIds& text) {
  // A turn is open while its BOS is newer than the last EOS before this frame.
  const int64_t width = tokens_BT.size(1);
  const at::Tensor position = at::arange(width, tokens_BT.options()).unsqueeze(0) + 1;
  const at::Tensor begins = at::where(tokens_BT.eq(text.bos), position, 0);
  const at::Tensor ends = at::where(tokens_BT.eq(text.eos), position, 0);
  const at::Tensor last_begin = std::get<0>(at::cummax(begins, 1));
  const at::Tensor last_end_before =
      at::constant_pad_nd(std::get<0>(at::cummax(ends, 1)).narrow(1, 0, width - 1), {1, 0}, 0);
  return last_begin.gt(last_end_before);
}

at::Tensor replace_control_codes(const at::Tensor& codes_BTK, const at::Tensor& silence_K,
                                 const SpeechIds& speech) {
  return at::where(codes_BTK.ge(speech.bos), silence_K.to(codes_BTK.device()), codes_BTK);
}

}  // namespace s2s::duplex_s2s
