#pragma once
// The books of a frame that a training step hides. Books go from coarse to fine, and the last ones
// are hidden first. Shape letters: B batch, T frames, K books.

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "tts_options.h"

namespace s2s::eartts {

/// Random numbers of a training step, uniform in [0, 1) except `books`.
struct Draws {
  at::Tensor source_BT;    // how many books the head sees
  at::Tensor target_BT;    // how many it predicts; only with random_target_masking
  at::Tensor dropout_BT1;  // whether books of the input are dropped
  at::Tensor books_BT1;    // int64 in [0, K]: how many remain
  at::Tensor uncond_B11;   // whether the row loses its condition
};

/// Draws for rows of `width` frames. A row's numbers depend only on the step and its id, not on
/// rank, batch or padding.
Draws draw(const TtsOptions& options, const std::vector<std::string>& ids, int64_t width,
           int64_t step, at::Device device);

/// Two uniform numbers of a row, to select its voice.
std::pair<double, double> two_numbers(const std::string& id, int64_t step);

/// The share of hidden books at `rate` of the schedule: (1 - rate^e)^(1/e).
at::Tensor masking_rate(const at::Tensor& rate, double exponent);

/// Masks [B, T, K] bool.
struct Masks {
  at::Tensor source;  // visible to the head
  at::Tensor target;  // may be predicted
  at::Tensor input;   // visible to the backbone, one frame later
};
Masks masks_of(const TtsOptions& options, const Draws& draws);

/// Codes [B, T, K], with the mask's id where `there` is false.
at::Tensor masked_codes(const at::Tensor& codes_BTK, const at::Tensor& there, int64_t mask_id);

}  // namespace s2s::eartts
