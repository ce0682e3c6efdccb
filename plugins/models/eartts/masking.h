#pragma once
// Which books of a frame a training step hides. The first books are coarse, the last ones fine, and
// the last ones are hidden first. Shape letters: B batch, T frames, K books.

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "tts_options.h"

namespace s2s::eartts {

/// Random numbers of a training step. All are uniform in [0, 1) but `books`.
struct Draws {
  at::Tensor source_BT;    // how many books the head sees
  at::Tensor target_BT;    // how many it predicts; only with random_target_masking
  at::Tensor dropout_BT1;  // whether books of the input are dropped
  at::Tensor books_BT1;    // int64 in [0, K]: how many are kept then
  at::Tensor uncond_B11;   // whether the row loses its condition
};

/// Draws for rows of `width` frames. A row's numbers depend on the step and its id only,
/// not on the rank, the batch or the padding.
Draws draw(const TtsOptions& options, const std::vector<std::string>& ids, int64_t width,
           int64_t step, at::Device device);

/// Two uniform numbers of a row, for the choice of its voice.
std::pair<double, double> two_numbers(const std::string& id, int64_t step);

/// The share of books that is hidden when `rate` of the schedule is over: (1 - rate^e)^(1/e).
at::Tensor masking_rate(const at::Tensor& rate, double exponent);

/// Masks [B, T, K] bool, true: the book is there.
struct Masks {
  at::Tensor source;  // the head sees it
  at::Tensor target;  // it may be predicted
  at::Tensor input;   // the backbone sees it, one frame later
};
Masks masks_of(const TtsOptions& options, const Draws& draws);

/// codes [B, T, K] with the mask's id where `there` is false.
at::Tensor masked_codes(const at::Tensor& codes_BTK, const at::Tensor& there, int64_t mask_id);

}  // namespace s2s::eartts
