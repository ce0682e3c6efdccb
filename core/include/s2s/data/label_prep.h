#pragma once
// Shifts of the text channels of a duplex model, by NeMo's names. Shape letters: B batch, T frames.
// Source: NeMo speechlm2 parts/label_prep.py.

#include <ATen/core/Tensor.h>

#include "s2s/data/fingerprint.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/options.h"

namespace s2s {

/// By how many frames the text channels are moved against the audio. 0: not at all.
struct TextShiftOptions {
  int64_t advance_text_channel_by = 0;
  int64_t delay_text_channel_by = 0;
  int64_t delay_text_eos_by = 0;
  int64_t delay_text_bos_by = 0;
  int64_t delay_source_text_by = 0;

  /// True if the agent's channel moves.
  bool any_of_agent() const;
  void visit(OptionVisitor& v);
};

/// Moves each `mark` in tokens [B, T] to the right by `frames` and leaves `pad` in its place. A
/// mark stays where it is when its new place is outside the channel or holds another mark. Other
/// tokens at the new place are overwritten.
/// Source: NeMo delay_eos.
at::Tensor delay_marks(const at::Tensor& tokens_BT, int64_t mark, int64_t pad, int64_t frames);

/// Shifts the agent's text channel [B, T] in NeMo's order: the whole channel to the left, the whole
/// channel to the right, every EOS to the right, every BOS to the right. Tokens that leave the
/// channel are lost, an EOS of the last frames as well (NeMo means to keep it, but its shift drops
/// the frame in which it puts it). PAD fills the gaps.
/// Source: NeMo prepare_text_and_asr_labels.
at::Tensor shift_agent_text(const at::Tensor& tokens_BT, const TextShiftOptions& shifts,
                            const SpecialIds& ids);

/// Shifts the user's text channel [B, T] to the right by delay_source_text_by.
at::Tensor shift_user_text(const at::Tensor& tokens_BT, const TextShiftOptions& shifts,
                           const SpecialIds& ids);

}  // namespace s2s
