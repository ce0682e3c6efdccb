#pragma once
// Frames of CSM after prompts.

#include <cstdint>
#include <vector>

#include "csm_model.h"

namespace s2s::two_level {

/// Continues rows by frames, each as if it were alone. Source: transformers'
/// models/csm/generation_csm.py, _sample. The model must outlive it.
class CsmModel::Speech {
 public:
  /// What a row says. The frame that ends it is the last one.
  struct Row {
    std::vector<at::Tensor> frames_K;  // on the host
    at::Tensor last_K;                 // on the model's device
    bool is_ended = false;
  };
  Speech(CsmModel& model, int64_t num_rows, const SpeechOptions& options);
  /// A prompt for each row, without padding.
  void run(const std::vector<CsmRows>& prompts);
  const std::vector<Row>& rows() const { return rows_; }

 private:
  /// The codes [B, K] that follow the backbone's states [B, H] of the rows `slots`.
  at::Tensor next_frames(const at::Tensor& state_BH, TokenChoice& choice,
                         const std::vector<int64_t>& slots);
  /// Adds positions, and the frame that follows them, to the rows `slots`.
  void pass(const at::Tensor& x_BTH, const std::vector<int64_t>& slots);
  /// Runs the blocks that a pass of other ranks runs, for no row. is_prompt: their first one.
  void idle_pass(bool is_prompt);
  std::vector<int64_t> open_rows() const;
  int64_t largest(int64_t own) const { return options_.largest ? options_.largest(own) : own; }

  CsmModel& model_;
  const SpeechOptions& options_;
  std::vector<HeadWeight> heads_;  // of books 1 to K - 1
  TokenChoice choice_;
  SequenceState state_;
  std::vector<Row> rows_;
};

}  // namespace s2s::two_level
