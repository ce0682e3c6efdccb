#pragma once
// Token-channel operations of the duplex model, without any network. Shape letters: B batch, T
// frames, K codebooks.
// Source: NeMo DuplexS2SModel.prepare_inputs; core/docs/internals/duplex.md.

#include <ATen/core/Tensor.h>

#include "s2s/kinds/tokenizer.h"

namespace s2s::duplex_s2s {

/// Control codes follow the codec's codes and are equal for all codebooks.
struct SpeechIds {
  static constexpr int64_t kCount = 3;
  explicit SpeechIds(int64_t codebook_size)
      : bos(codebook_size), eos(codebook_size + 1), delay(codebook_size + 2) {}
  int64_t bos, eos, delay;
};

/// Channels of the padded batch after alignment, delay and shift: inputs and labels.
struct Channels {
  at::Tensor text_in_BT, audio_in_BTK;
  at::Tensor text_labels_BT, audio_labels_BTK;
};

/// Writes control codes at the frames where the text channel begins or ends a turn, delays the
/// codes by one frame (the first frame gets the delay code), and splits into inputs (frames 0..T-2)
/// and labels (1..T-1). tokens [B, T], codes [B, T, K] of equal width, int64.
Channels make_channels(const at::Tensor& tokens_BT, const at::Tensor& codes_BTK,
                       const SpecialIds& text, const SpeechIds& speech);

/// [B, T] bool: frames of the agent's turns, BOS and EOS included. A turn without EOS lasts to the
/// end.
at::Tensor agent_turn_mask(const at::Tensor& tokens_BT, const SpecialIds& text);

/// Replaces every control code by the codec's silence code of that codebook. NeMo uses the
/// codebook's first frame instead, which may also be a control code.
at::Tensor replace_control_codes(const at::Tensor& codes_BTK, const at::Tensor& silence_K,
                                 const SpeechIds& speech);

}  // namespace s2s::duplex_s2s
