#pragma once
// Metrics of decoded answers, with the names of NeMo's validation. Shape letters: B batch, T
// frames.

#include "decoding.h"

namespace s2s::duplex_stt {

/// How quickly the agent's first turn follows the end of the user's first turn.
struct TurnTaking {
  int64_t turns = 0;     // rows in which the user ends a turn
  int64_t taken = 0;     // of these, rows with an answer within 13 frames before or after
  double latency_s = 0;  // sum over `taken`: the agent's start minus the user's end
};

/// Counts the rows of `user` [B, T], the true tokens, and `agent` [B, T'], the decoded tokens.
/// Source: NeMo speechlm2 parts/metrics/turn_taking.py.
TurnTaking count_turn_taking(const at::Tensor& user_BT, const at::Tensor& agent_BT,
                             const SpecialIds& ids, double frame_length_s);

/// Decodes a batch and adds turn_taking_acc and turn_taking_latency (s). With predict_user_text
/// also adds src_empty_text_rate, the share of rows without a word of the user.
void add_answer_metrics(SttModel& model, const Batch& batch, MetricSums& sums);

}  // namespace s2s::duplex_stt
