#include "s2s/data/label_prep.h"

#include <ATen/Functions.h>

#include <algorithm>

namespace s2s {
namespace {

/// Moves the channel to the right, or to the left if `frames` is negative.
at::Tensor moved(const at::Tensor& tokens_BT, int64_t frames, int64_t pad) {
  const int64_t width = tokens_BT.size(1);
  const int64_t by = std::clamp(frames, -width, width);
  // Negative padding removes elements.
  return at::constant_pad_nd(tokens_BT, {by, -by}, pad);
}

}  // namespace

bool TextShiftOptions::any_of_agent() const {
  return advance_text_channel_by > 0 || delay_text_channel_by > 0 || delay_text_eos_by > 0 ||
         delay_text_bos_by > 0;
}

void TextShiftOptions::visit(OptionVisitor& v) {
  v("advance_text_channel_by", advance_text_channel_by,
    "frames by which the agent's text channel is moved to the front", at_least(0));
  v("delay_text_channel_by", delay_text_channel_by,
    "frames by which the agent's text channel is moved back", at_least(0));
  v("delay_text_eos_by", delay_text_eos_by,
    "frames by which the end of the agent's turns (EOS) is moved back", at_least(0));
  v("delay_text_bos_by", delay_text_bos_by,
    "frames by which the start of the agent's turns (BOS) is moved back", at_least(0));
  v("delay_source_text_by", delay_source_text_by,
    "frames by which the user's text channel is moved back", at_least(0));
}

at::Tensor delay_marks(const at::Tensor& tokens_BT, int64_t mark, int64_t pad, int64_t frames) {
  const int64_t width = tokens_BT.size(1);
  if (frames <= 0 || frames >= width) return tokens_BT;
  const at::Tensor is_mark_BT = tokens_BT.eq(mark);
  const at::Tensor is_blocked_BT =
      at::constant_pad_nd(is_mark_BT.narrow(1, frames, width - frames), {0, frames}, true);
  const at::Tensor moves_BT = is_mark_BT.logical_and(is_blocked_BT.logical_not());
  const at::Tensor arrives_BT =
      at::constant_pad_nd(moves_BT.narrow(1, 0, width - frames), {frames, 0}, false);
  return at::where(arrives_BT, mark, at::where(moves_BT, pad, tokens_BT));
}

at::Tensor shift_agent_text(const at::Tensor& tokens_BT, const TextShiftOptions& shifts,
                            const SpecialIds& ids) {
  at::Tensor shifted_BT = tokens_BT;
  if (shifts.advance_text_channel_by > 0) {
    shifted_BT = moved(shifted_BT, -shifts.advance_text_channel_by, ids.pad);
  }
  if (shifts.delay_text_channel_by > 0) {
    shifted_BT = moved(shifted_BT, shifts.delay_text_channel_by, ids.pad);
  }
  shifted_BT = delay_marks(shifted_BT, ids.eos, ids.pad, shifts.delay_text_eos_by);
  return delay_marks(shifted_BT, ids.bos, ids.pad, shifts.delay_text_bos_by);
}

at::Tensor shift_user_text(const at::Tensor& tokens_BT, const TextShiftOptions& shifts,
                           const SpecialIds& ids) {
  if (shifts.delay_source_text_by == 0) return tokens_BT;
  return moved(tokens_BT, shifts.delay_source_text_by, ids.pad);
}

}  // namespace s2s
