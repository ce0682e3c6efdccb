#pragma once
// The agent in conversations, frame by frame. Shape letters: B rows of a step, R rows of all
// conversations, T frames, K codebooks.

#include <memory>
#include <vector>

#include "moshi_model.h"

namespace s2s::two_level {

/// Predicts the agent's text and codes while the user's codes arrive. The model must outlive it.
class MoshiModel::Conversation {
 public:
  struct Frame {
    at::Tensor text_B, codes_BK;
  };
  /// For a batch. The agent starts with the frames of `prompt`.
  Conversation(MoshiModel& model, int64_t batch_size, at::Device device, Prompt prompt);
  /// For slots, which start one by one.
  Conversation(MoshiModel& model, int64_t num_slots, at::Device device);
  void begin(int64_t slot, const SamplingOptions& sampling);
  /// The agent's next frame, given the user's codes [B, K] of the same frame. Text and first book
  /// do not depend on these codes; the later books do. `slots`: those of the rows; empty: all.
  Frame answer(const at::Tensor& user_BK, const std::vector<int64_t>& slots = {});

 private:
  /// What the next step of a conversation reads, with delayed codes.
  struct Last {
    at::Tensor text_B, own_BK, user_BK;
    at::Tensor user_late_BK;  // the user's codes, not yet visible to the next step
  };
  Conversation(MoshiModel& model, int64_t num_rows, at::Device device, TokenChoice choice);
  Last first(int64_t num_rows) const;
  Last last_of(const std::vector<int64_t>& slots) const;
  void keep(const Last& last, const std::vector<int64_t>& slots);
  /// Runs one step of the main decoder on `last`, and writes its outputs to `last`. `number`: the
  /// steps before it; the first one has no input of the user.
  void step(Last& last, const std::vector<int64_t>& slots, int64_t number);
  /// Replaces the model's codes by the prompt's. The later books are one frame late.
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
