#pragma once
// Moshi's side of a conversation, frame by frame. Shape letters: B batch, T frames, K codebooks.

#include "moshi_model.h"

namespace s2s::two_level {

/// Text and codes of the agent, while the user's codes come in. The model must outlive it.
class MoshiModel::Conversation {
 public:
  struct Frame {
    at::Tensor text_B, codes_BK;
  };
  /// The agent begins with the frames of `prompt`.
  Conversation(MoshiModel& model, int64_t batch_size, at::Device device, Prompt prompt = {});
  /// The agent's next frame, from the user's codes [B, K] of the same frame. The text and the first
  /// book were chosen before the user's frame was heard, the later books with it.
  Frame answer(const at::Tensor& user_BK);

 private:
  /// One step of the main decoder from `last_`, and what it says, also into `last_`.
  void step();
  /// Puts the prompt's codes in place of the model's. The later books are a frame late.
  void put_prompt(at::Tensor& codes_BK) const;

  MoshiModel& model_;
  Prompt prompt_;
  TokenChoice choice_;
  SequenceState state_;
  int64_t steps_ = 0;
  MoshiStreams last_;  // input of the next step: text [B, 1], codes [B, K, 1] with their delay
  at::Tensor user_late_BK_;  // the user's codes that the next step does not see yet
};

}  // namespace s2s::two_level
