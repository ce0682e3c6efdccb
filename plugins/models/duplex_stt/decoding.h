#pragma once
// Decoding frame by frame: the tokens of both channels, and the rules of forced turn taking.
// Shape letters: B batch, T frames, H hidden, V vocabulary.
// Source: NeMo speechlm2 streaming/duplex_stt_inference.py.

#include <deque>
#include <memory>
#include <vector>

#include "s2s/nn/token_choice.h"
#include "stt_model.h"

namespace s2s::duplex_stt {

/// Tokens of one frame, [B] int64. The user's are undefined without predict_user_text.
struct FrameTokens {
  at::Tensor agent_B, user_B;
};

/// Changes the agent's token of a frame where the user's channel asks for it: BOS when the user has
/// ended a turn (an end token, or silence after words), EOS when the user begins one; neither when
/// the agent's last frames have one already.
class TurnRules {
 public:
  TurnRules(const DecodingOptions& options, const SttParts& parts);
  /// The tokens of the next frame under the rules. `is_prompt_B`: rows that are not changed;
  /// undefined: none.
  at::Tensor agent_tokens(const FrameTokens& chosen, const at::Tensor& is_prompt_B);

 private:
  at::Tensor has_ended(const at::Tensor& user_B) const;
  bool knows_enough() const;

  const DecodingOptions* options_;
  const SttParts* parts_;
  int64_t frame_ = 0;                    // of the next call
  std::deque<at::Tensor> agent_, user_;  // [B] each, the last frames
};

/// The state of a batch of conversations, or of conversations in slots.
class Conversation {
 public:
  /// Of a batch, which chooses its tokens as choose_tokens_by said.
  Conversation(SttModel& model, int64_t batch_size);
  /// Of slots, which are begun one by one.
  static Conversation of_slots(SttModel& model, int64_t num_slots);
  void begin(int64_t slot, const SamplingOptions& sampling);
  /// Predicts the next frame from the user's frame [B, 1, H]. Rows of `is_prompt_B` (undefined:
  /// none) are in their prompts and stay silent. `slots`: those of the rows; empty: all.
  FrameTokens next(const at::Tensor& frame_B1H, const at::Tensor& is_prompt_B = {},
                   const std::vector<int64_t>& slots = {});

 private:
  Conversation(SttModel& model, int64_t num_rows, TokenChoice choice, size_t num_rules);
  FrameTokens chosen_tokens(const at::Tensor& hidden_BH, const std::vector<int64_t>& slots);
  at::Tensor ruled(const FrameTokens& chosen, const at::Tensor& is_prompt_B,
                   const std::vector<int64_t>& slots);

  SttModel& model_;
  std::unique_ptr<SequenceState> state_;
  TokenChoice choice_;
  std::vector<TurnRules> rules_;  // of the batch, or of each slot
  FrameTokens last_;
};

/// Tokens of whole rows [B, T].
struct DecodedTokens {
  at::Tensor agent_BT, user_BT;  // user_BT undefined without predict_user_text
  at::Tensor lens_B;
};
/// Decodes audio [B, S] with prompts in front of it. As NeMo: positions behind a row's length are 0
/// if there are prompts.
DecodedTokens decode(SttModel& model, const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                     const Prompts& prompts);

/// The text of a row of tokens: turns joined with one space.
std::string text_of(const std::vector<int64_t>& ids, const SpecialIds& special,
                    const Tokenizer& tokenizer);

}  // namespace s2s::duplex_stt
