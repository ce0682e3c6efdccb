#pragma once
// Puts system prompts in front of the frames of a batch.
// Shape letters: B batch, T frames, P prompt tokens, H hidden.
// Source: NeMo speechlm2 parts/label_prep.py, maybe_prepend_prompt_tokens.

#include <ATen/core/Tensor.h>

namespace s2s::duplex_stt {

/// Puts the first prompt_lens[b] positions of `prompt` [B, P, ...] in front of the first lens[b]
/// positions of `rows` [B, T, ...], and fills the rest with `fill`: [B, P + T, ...].
at::Tensor prepend_rows(const at::Tensor& prompt, const at::Tensor& prompt_lens_B,
                        const at::Tensor& rows, const at::Tensor& lens_B, int64_t fill);

/// Puts prompt_lens[b] frames of PAD in front of the first lens[b] tokens [B, T], and fills the
/// rest with PAD: [B, P + T]. `longest` is P.
at::Tensor prepend_silence(const at::Tensor& tokens_BT, const at::Tensor& lens_B,
                           const at::Tensor& prompt_lens_B, int64_t longest, int64_t pad);

/// Removes the first skip[b] positions of tokens [B, T], keeps the next lens[b] positions, and
/// fills the rest with `fill`: [B, width].
at::Tensor cut_front(const at::Tensor& tokens_BT, const at::Tensor& skip_B,
                     const at::Tensor& lens_B, int64_t width, int64_t fill);

}  // namespace s2s::duplex_stt
