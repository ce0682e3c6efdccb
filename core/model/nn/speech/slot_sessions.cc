#include "s2s/nn/slot_sessions.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/error.h"
#include "s2s/nn/eval_scope.h"
#include "s2s/nn/full_precision.h"
#include "s2s/nn/rows.h"

namespace s2s {
namespace {

using Output = DuplexSessions::Output;

class SlotSessions final : public DuplexSessions {
 public:
  SlotSessions(Model& model, std::unique_ptr<SlotDecoder> decoder, int64_t num_slots)
      : eval_(model), decoder_(std::move(decoder)), slots_(static_cast<size_t>(num_slots)) {}

  int64_t num_slots() const override { return static_cast<int64_t>(slots_.size()); }

  void open(int64_t slot, const SamplingOptions& sampling) override {
    const at::NoGradGuard no_grad;
    Slot& own = slots_.at(static_cast<size_t>(slot));
    own = {decoder_->open_listener(), decoder_->open_speaker()};
    decoder_->begin(slot, sampling);
  }

  std::vector<Output> push(const std::vector<at::Tensor>& samples) override {
    const at::NoGradGuard no_grad;
    S2S_ASSERT(samples.size() == slots_.size(), "a push has audio for each slot, or none");
    std::vector<at::Tensor> heard(slots_.size());
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      if (!samples[slot].defined()) continue;
      heard[slot] = listener(slot).push(samples[slot].unsqueeze(0));
    }
    return answers(heard);
  }

  Output close(int64_t slot) override {
    const at::NoGradGuard no_grad;
    const auto index = static_cast<size_t>(slot);
    std::vector<at::Tensor> heard(slots_.size());
    heard[index] = listener(index).finish();
    Output out = std::move(answers(heard)[index]);
    if (slots_[index].speaker) {
      const FullPrecision full_precision;
      const at::Tensor rest_S = slots_[index].speaker->finish().squeeze(0);
      out.audio_S = out.audio_S.numel() == 0 ? rest_S : at::cat({out.audio_S, rest_S});
    }
    slots_[index] = {};
    return out;
  }

 private:
  struct Slot {
    std::unique_ptr<EncoderStream> listener;  // null: no conversation
    std::unique_ptr<CodecStream> speaker;     // null: no voice
  };

  EncoderStream& listener(size_t slot) {
    S2S_ASSERT(slots_.at(slot).listener != nullptr, "an active slot has been opened");
    return *slots_[slot].listener;
  }

  /// heard: new frames [1, T, ...] of each slot; undefined: none.
  std::vector<Output> answers(const std::vector<at::Tensor>& heard) {
    int64_t num_frames = 0;
    for (const at::Tensor& frames : heard) {
      if (frames.defined()) num_frames = std::max(num_frames, frames.size(1));
    }
    std::vector<at::Tensor> tokens;            // [B, 1 + K] of each frame, on the device
    std::vector<std::vector<int64_t>> active;  // the slots of these rows
    for (int64_t t = 0; t < num_frames; ++t) {
      std::vector<at::Tensor> frames;
      active.emplace_back();
      for (size_t slot = 0; slot < heard.size(); ++slot) {
        if (!heard[slot].defined() || heard[slot].size(1) <= t) continue;
        frames.push_back(heard[slot].select(1, t));
        active.back().push_back(static_cast<int64_t>(slot));
      }
      tokens.push_back(
          decoder_->next(frames.size() == 1 ? frames[0] : at::cat(frames), active.back()));
    }
    std::vector<std::vector<at::Tensor>> rows(slots_.size());
    if (!tokens.empty()) {
      const at::Tensor all = at::cat(tokens).cpu();  // the host waits for the device once
      int64_t row = 0;
      for (const std::vector<int64_t>& slots : active) {
        for (const int64_t slot : slots) rows[static_cast<size_t>(slot)].push_back(all[row++]);
      }
    }
    std::vector<Output> outputs;
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      outputs.push_back(output_of(slots_[slot], rows[slot]));
    }
    return outputs;
  }

  Output output_of(Slot& slot, const std::vector<at::Tensor>& rows) {
    Output out;
    out.audio_S = at::empty({0}, at::kFloat);
    out.codes_TK = at::empty({0, 0}, at::kLong);
    if (rows.empty()) return out;
    const at::Tensor tokens = at::stack(rows);
    out.text_tokens = to_vector(tokens.select(1, 0));
    if (!slot.speaker) return out;
    out.codes_TK = tokens.narrow(1, 1, tokens.size(1) - 1);
    const FullPrecision full_precision;
    const at::Tensor codes_1KT = decoder_->spoken(out.codes_TK).t().unsqueeze(0).contiguous();
    out.audio_S = slot.speaker->push(codes_1KT).squeeze(0);
    return out;
  }

  EvalScope eval_;
  std::unique_ptr<SlotDecoder> decoder_;
  std::vector<Slot> slots_;
};

}  // namespace

SlotDecoder::~SlotDecoder() = default;

std::unique_ptr<CodecStream> SlotDecoder::open_speaker() { return nullptr; }

at::Tensor SlotDecoder::spoken(const at::Tensor& codes_TK) { return codes_TK; }

std::unique_ptr<DuplexSessions> slot_sessions(Model& model, std::unique_ptr<SlotDecoder> decoder,
                                              int64_t num_slots) {
  return std::make_unique<SlotSessions>(model, std::move(decoder), num_slots);
}

}  // namespace s2s
