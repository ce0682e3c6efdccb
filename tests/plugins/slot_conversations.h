#pragma once
// Conversations side by side: each says what it says alone, whenever others join and leave.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/token_sampling.h"

namespace s2s::test {

/// All that one conversation has said.
struct SlotAnswer {
  std::vector<int64_t> text;
  std::vector<at::Tensor> codes, audio;

  void take(const DuplexSessions::Output& out) {
    text.insert(text.end(), out.text_tokens.begin(), out.text_tokens.end());
    if (out.codes_TK.size(0) > 0) codes.push_back(out.codes_TK);
    if (out.audio_S.numel() > 0) audio.push_back(out.audio_S);
  }
};

/// Greedy, drawn, drawn from another seed, and with penalties.
inline std::vector<SamplingOptions> slot_samplings() {
  std::vector<SamplingOptions> all(4);
  all[1].temperature = all[2].temperature = 1;
  all[1].seed = 3;
  all[2].seed = 4;
  all[3].repetition_penalty = 1.3;
  all[3].no_repeat_ngram_size = 3;
  return all;
}

inline SlotAnswer answer_alone(AnswersSpeech& model, const SamplingOptions& sampling,
                               const at::Tensor& audio_S, int64_t frame) {
  const auto session = model.open_session(sampling);
  SlotAnswer answer;
  for (int64_t at = 0; at < audio_S.size(0); at += frame) {
    answer.take(session->push(audio_S.slice(0, at, at + frame)));
  }
  answer.take(session->finish());
  return answer;
}

/// Runs conversations [N, S] in three slots: they begin at drawn moments, pause, and end, and the
/// next one takes the slot.
inline void check_slots(AnswersSpeech& model, const at::Tensor& audio_NS) {
  const double rate = static_cast<double>(model.source_sample_rate_hz());
  const auto frame = static_cast<int64_t>(rate * model.frame_length_s());
  const std::vector<SamplingOptions> samplings = slot_samplings();
  const int64_t count = audio_NS.size(0);
  std::vector<SlotAnswer> alone, beside(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    alone.push_back(answer_alone(model, samplings[static_cast<size_t>(i)], audio_NS[i], frame));
  }
  constexpr size_t kSlots = 3;
  const std::unique_ptr<DuplexSessions> sessions = model.open_sessions(kSlots);
  REQUIRE(sessions != nullptr);
  CHECK(sessions->num_slots() == kSlots);
  std::vector<int64_t> conversation(kSlots, -1), position(kSlots, 0);
  std::mt19937 draw(11);
  int64_t begun = 0, ended = 0;
  size_t most_at_once = 0;
  while (ended < count) {
    std::vector<at::Tensor> samples(kSlots);
    size_t active = 0;
    for (size_t slot = 0; slot < kSlots; ++slot) {
      if (conversation[slot] < 0 && begun < count && draw() % 4 == 0) {
        sessions->open(static_cast<int64_t>(slot), samplings[static_cast<size_t>(begun)]);
        conversation[slot] = begun++;
        position[slot] = 0;
      }
      if (conversation[slot] < 0 || draw() % 5 == 0) continue;
      const at::Tensor audio_S = audio_NS[conversation[slot]];
      const int64_t begin = position[slot];
      position[slot] = std::min(begin + frame, audio_S.size(0));
      samples[slot] = audio_S.slice(0, begin, position[slot]);
      ++active;
    }
    most_at_once = std::max(most_at_once, active);
    const auto outputs = sessions->push(samples);
    REQUIRE(outputs.size() == kSlots);
    for (size_t slot = 0; slot < kSlots; ++slot) {
      if (conversation[slot] < 0) {
        CHECK(outputs[slot].text_tokens.empty());
        continue;
      }
      SlotAnswer& answer = beside[static_cast<size_t>(conversation[slot])];
      answer.take(outputs[slot]);
      if (position[slot] < audio_NS.size(1)) continue;
      answer.take(sessions->close(static_cast<int64_t>(slot)));
      conversation[slot] = -1;
      ++ended;
    }
  }
  CHECK(most_at_once >= 2);
  for (size_t i = 0; i < beside.size(); ++i) {
    CAPTURE(i);
    CHECK(beside[i].text.size() > 5);
    CHECK(beside[i].text == alone[i].text);
    REQUIRE(beside[i].codes.size() == alone[i].codes.size());
    if (!alone[i].codes.empty()) CHECK(at::cat(beside[i].codes).equal(at::cat(alone[i].codes)));
    REQUIRE(beside[i].audio.size() == alone[i].audio.size());
    if (alone[i].audio.empty()) continue;
    CHECK(at::allclose(at::cat(beside[i].audio), at::cat(alone[i].audio), 1e-4, 1e-5));
  }
  // The conversations differ, so that mixing slots up would be seen.
  CHECK(alone[0].text != alone[1].text);
}

}  // namespace s2s::test
