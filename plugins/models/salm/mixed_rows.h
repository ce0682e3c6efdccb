#pragma once
// Rows of text and audio: the source and the label of each position of the language model's input.
// Shape letters: B rows, T text ids, L positions, H hidden.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace s2s::salm {

/// Ids with a special meaning.
struct RowIds {
  int64_t pad = -1;
  int64_t tag = -1;      // replaced by an audio
  std::string tag_text;  // for messages
};

/// Rows as input of the language model, right padded.
struct MixedRows {
  /// [B, L] int64 on the CPU: rows of a table of B * T text embeddings, all frames of all audios in
  /// order, and one row of zeros (padding).
  at::Tensor source_BL;
  at::Tensor labels_BL;          // [B, L] int64 on the CPU, -100: none
  std::vector<int64_t> lengths;  // positions of each row
  int64_t num_labels = 0;

  int64_t width() const { return source_BL.size(1); }
};

/// Replaces each tag in ids [B, T] by the frames of the next audio, and removes left padding. A
/// position's label is the next position's id if loss_mask [B, T] is set there; tags and PAD are no
/// labels. `for_training` drops the last position, which predicts nothing. loss_mask undefined: no
/// labels. audio_frames: frames of each audio. Errors: [salm/audio-count]. Source: NeMo salm.py
/// replace_placeholders_and_build_targets, prepare_inputs (which pad on the left).
MixedRows mix_rows(const at::Tensor& ids_BT, const at::Tensor& loss_mask_BT,
                   const std::vector<int64_t>& audio_frames, const RowIds& ids, bool for_training);

/// Moves rows of x [B, L, ...] to the right, with zeros before them.
at::Tensor left_padded(const at::Tensor& x, const std::vector<int64_t>& lengths);

}  // namespace s2s::salm
