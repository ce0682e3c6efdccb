#pragma once
// Moshi's side of conversations, frame by frame. Shape letters: B rows of a step, R rows of all
// conversations, T frames, K codebooks.

#include <memory>
#include <vector>

#include "moshi_model.h"

namespace s2s::two_level {

/// Text and codes of the agent, while the user's codes come in. The model must outlive it.
class MoshiModel::Conversation {
 public:
  struct Frame {
    at::Tensor text_B, codes_BK;
  };
  /// A batch. The agent begins with the frames of `prompt`.
  Conversation(MoshiModel& model, int64_t batch_size, at::Device device, Prompt prompt);
  /// Slots, which are begun one by one.
  Conversation(MoshiModel& model, int64_t num_slots, at::Device device);
  void begin(int64_t slot, const SamplingOptions& sampling);
  /// The agent's next frame, from the user's codes [B, K] of the same frame. The text and the first
  /// book were chosen before the user's frame was heard, the later books with it. `slots`: those of
  /// the rows; empty: all.
  Frame answer(const at::Tensor& user_BK, const std::vector<int64_t>& slots = {});

 private:
  /// What the next step of a conversation reads. The codes have their delay.
  struct Last {
    at::Tensor text_B, own_BK, user_BK;
    at::Tensor user_late_BK;  // the user's codes that the next step does not see yet
  };
  Conversation(MoshiModel& model, int64_t num_rows, at::Device device, TokenChoice choice);
  Last first(int64_t num_rows) const;
  Last last_of(const std::vector<int64_t>& slots) const;
  void keep(const Last& last, const std::vector<int64_t>& slots);
  /// One step of the main decoder from `last`, and what it says, also into `last`. `number`: steps
  /// of the conversations before it; nothing is heard before the first one.
  void step(Last& last, const std::vector<int64_t>& slots, int64_t number);
  /// Puts the prompt's codes in place of the model's. The later books are a frame late.
  void put_prompt(at::Tensor& codes_BK, int64_t number) const;

  MoshiModel& model_;
  at::Device device_;
  Prompt prompt_;
  TokenChoice choice_;
  SequenceState state_;
  bool has_slots_ = false;
  int64_t steps_ = 0;  // of a batch
  Last last_;          // of all rows
};

}  // namespace s2s::two_level
