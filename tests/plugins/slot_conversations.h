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

/// Three slots in which conversations [N, S] begin at drawn moments, pause, and end; the next one
/// takes the slot.
class SlotConversations {
 public:
  SlotConversations(AnswersSpeech& model, const at::Tensor& audio_NS, int64_t frame)
      : audio_NS_(audio_NS),
        frame_(frame),
        samplings_(slot_samplings()),
        sessions_(model.open_sessions(kSlots)),
        answers_(static_cast<size_t>(audio_NS.size(0))) {
    REQUIRE(sessions_ != nullptr);
    CHECK(sessions_->num_slots() == kSlots);
  }

  /// All answers. `most`: conversations that were active at once.
  std::vector<SlotAnswer> run(size_t& most) {
    most = 0;
    while (ended_ < audio_NS_.size(0)) {
      std::vector<at::Tensor> samples(kSlots);
      for (size_t slot = 0; slot < kSlots; ++slot) samples[slot] = next_audio(slot);
      const auto active = std::count_if(samples.begin(), samples.end(),
                                        [](const at::Tensor& own) { return own.defined(); });
      most = std::max(most, static_cast<size_t>(active));
      const auto outputs = sessions_->push(samples);
      REQUIRE(outputs.size() == kSlots);
      for (size_t slot = 0; slot < kSlots; ++slot) take(slot, outputs[slot]);
    }
    return answers_;
  }

 private:
  static constexpr size_t kSlots = 3;
  struct Slot {
    int64_t conversation = -1;  // none
    int64_t position = 0;
  };

  at::Tensor next_audio(size_t index) {
    Slot& slot = slots_[index];
    if (slot.conversation < 0 && begun_ < audio_NS_.size(0) && draw_() % 4 == 0) {
      sessions_->open(static_cast<int64_t>(index), samplings_[static_cast<size_t>(begun_)]);
      slot = {begun_++, 0};
    }
    if (slot.conversation < 0 || draw_() % 5 == 0) return {};
    const int64_t begin = slot.position;
    slot.position = std::min(begin + frame_, audio_NS_.size(1));
    return audio_NS_[slot.conversation].slice(0, begin, slot.position);
  }

  void take(size_t index, const DuplexSessions::Output& output) {
    Slot& slot = slots_[index];
    if (slot.conversation < 0) {
      CHECK(output.text_tokens.empty());
      return;
    }
    SlotAnswer& answer = answers_[static_cast<size_t>(slot.conversation)];
    answer.take(output);
    if (slot.position < audio_NS_.size(1)) return;
    answer.take(sessions_->close(static_cast<int64_t>(index)));
    slot.conversation = -1;
    ++ended_;
  }

  at::Tensor audio_NS_;
  int64_t frame_;
  std::vector<SamplingOptions> samplings_;
  std::unique_ptr<DuplexSessions> sessions_;
  std::vector<SlotAnswer> answers_;
  Slot slots_[kSlots];
  std::mt19937 draw_{11};
  int64_t begun_ = 0, ended_ = 0;
};

/// Compares conversations [N, S] in slots with each of them alone.
inline void check_slots(AnswersSpeech& model, const at::Tensor& audio_NS) {
  const double rate = static_cast<double>(model.source_sample_rate_hz());
  const auto frame = static_cast<int64_t>(rate * model.frame_length_s());
  std::vector<SlotAnswer> alone;
  for (int64_t i = 0; i < audio_NS.size(0); ++i) {
    const SamplingOptions sampling = slot_samplings()[static_cast<size_t>(i)];
    alone.push_back(answer_alone(model, sampling, audio_NS[i], frame));
  }
  size_t most = 0;
  const std::vector<SlotAnswer> beside = SlotConversations(model, audio_NS, frame).run(most);
  CHECK(most >= 2);
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
