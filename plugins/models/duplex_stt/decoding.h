#pragma once
// Decodes frame by frame: the tokens of both channels, and the rules of forced turn taking.
// Shape letters: B batch, T frames, H hidden, V vocabulary.
// Source: NeMo speechlm2 streaming/duplex_stt_inference.py.

#include <deque>
#include <memory>
#include <vector>

#include "s2s/nn/token_choice.h"
#include "stt_model.h"

namespace s2s::duplex_stt {

/// Tokens of one frame, [B] int64. The user's token is undefined without predict_user_text.
struct FrameTokens {
  at::Tensor agent_B, user_B;
};

/// Changes the agent's token of a frame if the user's channel requires it. It becomes BOS when the
/// user has ended a turn (by an end token, or by silence after words), and EOS when the user begins
/// a turn. It is unchanged if one of the agent's last frames already has that token.
class TurnRules {
 public:
  TurnRules(const DecodingOptions& options, const SttParts& parts);
  /// Returns the tokens of the next frame after the rules. Rows of `is_prompt_B` are unchanged;
  /// undefined means no rows.
  at::Tensor agent_tokens(const FrameTokens& chosen, const at::Tensor& is_prompt_B);

 private:
  at::Tensor has_ended(const at::Tensor& user_B) const;
  bool knows_enough() const;

  const DecodingOptions* options_;
  const SttParts* parts_;
  int64_t frame_ = 0;                    // number of the next frame
  std::deque<at::Tensor> agent_, user_;  // [B] each, the last frames
};

/// The decoding state of a batch of conversations, or of conversations in slots.
class Conversation {
 public:
  /// For a batch, whose tokens are chosen in the way that choose_tokens_by has set.
  Conversation(SttModel& model, int64_t batch_size);
  /// For slots, each of which begins separately.
  static Conversation of_slots(SttModel& model, int64_t num_slots);
  void begin(int64_t slot, const SamplingOptions& sampling);
  /// Predicts the next frame from the user's frame [B, 1, H]. Rows of `is_prompt_B` (undefined:
  /// none) are in their prompts and stay silent. `slots` are the slots of the rows; empty: all
  /// slots.
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
  std::vector<TurnRules> rules_;  // one for the batch, or one for each slot
  FrameTokens last_;
};

/// Tokens of complete rows [B, T].
struct DecodedTokens {
  at::Tensor agent_BT, user_BT;  // user_BT is undefined without predict_user_text
  at::Tensor lens_B;
};
/// Decodes audio [B, S] with prompts in front of it. As in NeMo, positions after the length of a
/// row are 0 if there are prompts.
DecodedTokens decode(SttModel& model, const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                     const Prompts& prompts);

/// Returns the text of a row of tokens. Turns are joined with a space.
std::string text_of(const std::vector<int64_t>& ids, const SpecialIds& special,
                    const Tokenizer& tokenizer);

}  // namespace s2s::duplex_stt
