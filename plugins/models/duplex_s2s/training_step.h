#pragma once
// One micro-batch of the duplex model: inputs, labels, masks and losses.

#include "duplex_model.h"

namespace s2s::duplex_s2s {

struct StageWeights {
  double text = 0, audio = 0, user_text = 0;
  bool train_encoder = true;
  bool needs_llm() const { return text > 0 || audio > 0; }
};
StageWeights stage_weights(const DuplexOptions& options, int64_t step);

/// Channels and masks of a batch, for training and validation.
struct PreparedBatch {
  EncoderOutput heard;        // truncated to the common width T
  Channels channels;          // T - 1 frames
  at::Tensor input_lens_B;    // valid encoder frames minus one; their sum is NeMo's loss normalizer
  at::Tensor valid_lens_B;    // frames valid in both user and agent audio, minus one
  at::Tensor turn_mask_BT;    // labels inside the agent's turns
  at::Tensor user_labels_BT;  // T frames, for the auxiliary head; else undefined
};

class TrainingStep {
 public:
  explicit TrainingStep(DuplexModel& model) : m_(model) {}
  PreparedBatch prepare(const Batch& batch, bool encoder_gradients);
  /// The same from computed frames.
  PreparedBatch prepare(const Batch& batch, EncoderOutput heard);
  LossTerms losses(const PreparedBatch& prepared, const StageWeights& weights, double frames);
  MetricSums sums(const PreparedBatch& prepared);
  /// Inputs of the heads, [B, T-1, H] each; equal without `copy`.
  struct States {
    at::Tensor text_BTH, audio_BTH;
  };
  States states(const PreparedBatch& prepared, bool with_noise);
  /// Inputs of the language model without noise, [B, T-1, H].
  at::Tensor input_embeds(const PreparedBatch& prepared);

 private:
  /// The user's true words in some rows, else -1; undefined without truth_share.
  at::Tensor true_words(const PreparedBatch& prepared, int64_t width) const;
  /// The last token except PAD in the text channel, [B, T-1]; undefined without text_hold.
  at::Tensor held_text(const PreparedBatch& prepared) const;
  Channels with_history_noise(const Channels& channels) const;
  at::Tensor text_row_weights(const PreparedBatch& prepared) const;
  at::Tensor audio_row_weights(const PreparedBatch& prepared) const;
  at::Tensor valid_mask(const PreparedBatch& prepared) const;
  at::Tensor text_loss_sum(const at::Tensor& hidden_BTH, const PreparedBatch& prepared);
  at::Tensor audio_loss_sum(const at::Tensor& hidden_BTH, const PreparedBatch& prepared);
  at::Tensor user_text_loss_sum(const PreparedBatch& prepared);

  DuplexModel& m_;
};

}  // namespace s2s::duplex_s2s
