#pragma once
// One micro-batch of the duplex speech-to-text model: inputs, labels, weights and losses.
// Source: NeMo DuplexSTTModel.prepare_inputs, training_step.

#include "s2s/nn/losses.h"
#include "stt_model.h"

namespace s2s::duplex_stt {

/// Inputs, labels and weights of the audio of a batch. T frames give T - 1 positions.
struct PreparedBatch {
  EncoderOutput heard;           // output of the perception, without prompts
  at::Tensor frames_BTH;         // prompts and frames, cut to the common width T
  at::Tensor agent_BT, user_BT;  // shifted text channels; user_BT undefined without the head
  at::Tensor input_lens_B;       // valid frames minus one; NeMo divides the loss by their sum
  at::Tensor mask_BT;            // bool, true for the T - 1 positions that count
  at::Tensor agent_weights_BT, user_weights_BT;  // float32, 0 where the mask is false

  int64_t positions() const { return agent_BT.size(1) - 1; }
  at::Tensor agent_labels() const { return agent_BT.narrow(1, 1, positions()); }
  at::Tensor user_labels() const { return user_BT.narrow(1, 1, positions()); }
};

/// Sums over the positions of a micro-batch.
struct LossSums {
  at::Tensor agent, user;  // undefined without audio, without the user's channel
  at::Tensor text;         // mean over the labels of text data; undefined without text data
};

class TrainingStep {
 public:
  explicit TrainingStep(SttModel& model) : m_(model), options_(model.options()) {}
  PreparedBatch prepare(const Batch& batch);
  at::Tensor input_embeds(const PreparedBatch& prepared);
  /// The last hidden states [B, T - 1, H].
  at::Tensor hidden(const PreparedBatch& prepared);
  /// Losses of the channels, from `hidden`.
  LossSums channel_losses(const PreparedBatch& prepared, const at::Tensor& hidden_BTH);
  /// Mean cross entropy of the text data in a batch.
  at::Tensor text_loss(const Batch& batch);
  /// `frames` is the divisor for the sums of the channels, `text_parts` that for the mean of the
  /// text data.
  LossTerms terms(const LossSums& sums, double frames, double text_parts) const;
  MetricSums metrics(const PreparedBatch& prepared);

 private:
  at::Tensor label_weights(const at::Tensor& labels_BT, const at::Tensor& mask_BT) const;

  SttModel& m_;
  const SttOptions& options_;
};

/// The prompts of a batch (others: prompt_tokens, prompt_token_lens).
Prompts prompts_of(const Batch& batch);

}  // namespace s2s::duplex_stt
