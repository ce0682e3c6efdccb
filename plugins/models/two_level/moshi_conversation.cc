#include "moshi_conversation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "s2s/nn/eval_scope.h"
#include "s2s/nn/full_precision.h"
#include "streams.h"

namespace s2s::two_level {
namespace {

/// Book 0 of `first` and the later books of `later`, both [B, K].
at::Tensor joined_books(const at::Tensor& first_BK, const at::Tensor& later_BK) {
  return at::cat({first_BK.narrow(1, 0, 1), later_BK.narrow(1, 1, later_BK.size(1) - 1)}, 1);
}

}  // namespace

MoshiModel::Conversation::Conversation(MoshiModel& model, int64_t batch_size, at::Device device,
                                       Prompt prompt)
    : model_(model),
      prompt_(std::move(prompt)),
      choice_(model.sampling_, model.parts_.pad),
      state_(model.options_.num_hidden_layers) {
  const auto ids = at::TensorOptions(at::kLong).device(device);
  last_.text_BT = at::full({batch_size, 1}, model.options_.vocab_size, ids);
  last_.own_BKT = model.no_codes(at::empty({batch_size, model.options_.num_codebooks, 0}, ids));
  last_.user_BKT = last_.own_BKT;
  user_late_BK_ = last_.own_BKT.squeeze(2);
}

void MoshiModel::Conversation::step() {
  SequenceInfo info;
  info.state = &state_;
  const at::Tensor state_BH = model_.decoder_(model_.embed(last_), info).squeeze(1);
  const at::Tensor text_B = steps_ < prompt_.frames()
                                ? prompt_.text_BT.select(1, steps_)
                                : choice_.text(head_logits(state_BH, model_.lm_head_.head()));
  choice_.said(text_B);
  at::Tensor codes_BK = model_.depth_codes(state_BH, text_B, choice_);
  put_prompt(codes_BK);
  last_.text_BT = text_B.unsqueeze(1);
  last_.own_BKT = codes_BK.unsqueeze(2);
  ++steps_;
}

void MoshiModel::Conversation::put_prompt(at::Tensor& codes_BK) const {
  const int64_t later = codes_BK.size(1) - 1;
  if (steps_ < prompt_.frames()) {
    codes_BK.select(1, 0).copy_(prompt_.own_BKT.select(2, steps_).select(1, 0));
  }
  if (steps_ == 0) {
    codes_BK.narrow(1, 1, later).fill_(model_.options_.audio_vocab_size);
  } else if (steps_ - 1 < prompt_.frames()) {
    codes_BK.narrow(1, 1, later).copy_(prompt_.own_BKT.select(2, steps_ - 1).narrow(1, 1, later));
  }
}

MoshiModel::Conversation::Frame MoshiModel::Conversation::answer(const at::Tensor& user_BK) {
  if (steps_ == 0) step();  // nothing is heard before the first frame
  const at::Tensor text_B = last_.text_BT.squeeze(1);
  const at::Tensor said_BK = last_.own_BKT.squeeze(2);
  last_.user_BKT = joined_books(user_BK, user_late_BK_).unsqueeze(2);
  user_late_BK_ = user_BK;
  step();
  return {text_B, joined_books(said_BK, last_.own_BKT.squeeze(2))};
}

namespace {

class Session : public DuplexSession {
 public:
  Session(MoshiModel& model, std::unique_ptr<CodecEncoderStream> listener, at::Device device)
      : codec_(model.codec()),
        eval_(model),
        listener_(std::move(listener)),
        speaker_(codec_.open_stream(1)),
        silence_K_(codec_.silence_codes().cpu()),
        conversation_(model, 1, device) {}

  Output push(const at::Tensor& samples_S) override {
    const at::NoGradGuard no_grad;
    return answer(heard([&] { return listener_->push(samples_S.unsqueeze(0)); }), false);
  }

  Output finish() override {
    const at::NoGradGuard no_grad;
    return answer(heard([&] { return listener_->finish(); }), true);
  }

 private:
  template <class Listen>
  static at::Tensor heard(const Listen& listen) {
    const FullPrecision full_precision;
    return listen();
  }

  Output answer(const at::Tensor& user_1KT, bool last) {
    Output out;
    out.codes_TK = at::empty({0, 0}, at::kLong);
    std::vector<at::Tensor> tokens, audio;
    for (int64_t t = 0; t < user_1KT.size(2); ++t) {
      const auto frame = conversation_.answer(user_1KT.select(2, t));
      tokens.push_back(at::cat({frame.text_B.unsqueeze(1), frame.codes_BK}, 1));
    }
    const FullPrecision full_precision;
    if (!tokens.empty()) {
      const at::Tensor said = at::cat(tokens).cpu();  // the host waits for the device once
      out.text_tokens = values_of(said.select(1, 0));
      out.codes_TK = said.narrow(1, 1, said.size(1) - 1);
      audio.push_back(speaker_->push(
          codec_codes(out.codes_TK.t().unsqueeze(0), silence_K_, codec_.shape().codebook_size)));
    }
    if (last) audio.push_back(speaker_->finish());
    out.audio_S = (audio.empty() ? at::empty({1, 0}) : at::cat(audio, 1)).squeeze(0);
    return out;
  }

  Codec& codec_;
  EvalScope eval_;
  std::unique_ptr<CodecEncoderStream> listener_;
  std::unique_ptr<CodecStream> speaker_;
  at::Tensor silence_K_;
  MoshiModel::Conversation conversation_;
};

}  // namespace

std::unique_ptr<DuplexSession> MoshiModel::open_session() {
  if (!parts_.codec) return nullptr;
  std::unique_ptr<CodecEncoderStream> listener = parts_.codec->open_encoder_stream(1);
  if (listener == nullptr) return nullptr;
  return std::make_unique<Session>(*this, std::move(listener), lm_head_.weight.device());
}

}  // namespace s2s::two_level
