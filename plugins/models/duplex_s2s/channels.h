#pragma once
// The duplex model's arithmetic on token channels, free of any network.
// Shape letters: B batch, T frames, K codebooks.
// Source: NeMo DuplexS2SModel.prepare_inputs; core/docs/internals/duplex.md.

#include <ATen/core/Tensor.h>

#include "s2s/kinds/tokenizer.h"

namespace s2s::duplex {

/// Control codes stand above the codec's alphabet, the same for all codebooks.
struct SpeechIds {
  explicit SpeechIds(int64_t codebook_size)
      : bos(codebook_size), eos(codebook_size + 1), delay(codebook_size + 2) {}
  int64_t bos, eos, delay;
};

/// Channels of the padded batch after alignment, delay and shift: what goes in, what comes out.
struct Channels {
  at::Tensor text_in_BT, audio_in_BTK;
  at::Tensor text_labels_BT, audio_labels_BTK;
};

/// tokens [B, T'] cut to `width` columns, or padded with PAD on the right.
at::Tensor fit_width(const at::Tensor& tokens_BT, int64_t width, int64_t pad);

/// Writes the control codes where the text channel begins or ends a turn, delays the codes by one
/// frame (the delay code first), and splits into inputs (frames 0..T-2) and labels (1..T-1).
/// tokens [B, T], codes [B, T, K] of equal width, int64.
Channels make_channels(const at::Tensor& tokens_BT, const at::Tensor& codes_BTK,
                       const SpecialIds& text, const SpeechIds& speech);

/// [B, T] bool: t < lengths[b].
at::Tensor length_mask(const at::Tensor& lengths_B, int64_t width);

/// [B, T] bool: frames inside the agent's turns, from BOS up to and with the frame of EOS; a turn
/// without EOS runs to the end.
at::Tensor agent_turn_mask(const at::Tensor& tokens_BT, const SpecialIds& text);

/// codes with every control code replaced by the codec's silence of that codebook. NeMo puts the
/// codebook's first frame there instead, which may itself be a control code.
at::Tensor replace_control_codes(const at::Tensor& codes_BTK, const at::Tensor& silence_K,
                                 const SpeechIds& speech);

}  // namespace s2s::duplex
