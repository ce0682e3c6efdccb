// Decoding: of whole recordings, and frame by frame in a live session.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "duplex_errors.h"
#include "duplex_model.h"
#include "frames.h"
#include "s2s/nn/eval_scope.h"
#include "s2s/nn/full_precision.h"

namespace s2s::duplex {

DuplexModel::Choice DuplexModel::initial_choice(int64_t batch_size, at::Device device) const {
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  return {at::full({batch_size}, parts_.ids.pad, options),
          at::full({batch_size, parts_.num_codebooks}, speech_.delay, options),
          at::full({batch_size}, parts_.ids.pad, options)};
}

DuplexModel::Choice DuplexModel::step(const UserChannel& user, const Choice& previous,
                                      Memory& memory) {
  const at::Tensor said_B1H =
      add_codes(user.frames_BTH + text_embedding(previous.text_B.unsqueeze(1)),
                previous.codes_BK.unsqueeze(1));
  const at::Tensor x_B1H = add_held_text(said_B1H, previous.held_B.unsqueeze(1));
  SequenceInfo info;
  info.state = &memory.llm;
  const at::Tensor hidden_B1H = (*parts_.llm)(x_B1H, info);
  const at::Tensor text_BH = text_state(hidden_B1H, user.words, &memory.words).squeeze(1);
  // NeMo skips a family's final soft cap, here as in training.
  const at::Tensor text = memory.choice.text(parts_.llm->logits(text_BH, /*soft_cap=*/false));
  const at::Tensor audio_BH =
      audio_state(hidden_B1H, previous.codes_BK.unsqueeze(1), &memory.speech).squeeze(1);
  const at::Tensor codes =
      memory.choice.codes(head_logits(audio_BH, audio_head(), parts_.num_codebooks)
                              .view({audio_BH.size(0), parts_.num_codebooks, -1}));
  return {text, codes, at::where(text.eq(parts_.ids.pad), previous.held_B, text)};
}

bool DuplexModel::steps_repeat() {
  // Parallel strategies do what a graph does not repeat, copying looks at more words each time, and
  // so does a speech decoder at frames.
  const bool copies = user_text_ && user_text_->copy() != nullptr;
  return !copies && !parts_.speech_decoder && parts_.llm->hooks() == nullptr &&
         parts_.llm->steps_repeat();
}

namespace {

/// ids [T] of the CPU.
std::vector<int64_t> to_vector(const at::Tensor& ids_T) {
  const at::Tensor ids = ids_T.contiguous();
  return {ids.const_data_ptr<int64_t>(), ids.const_data_ptr<int64_t>() + ids.numel()};
}

}  // namespace

Generation DuplexModel::generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                                 bool decode_audio) {
  const at::NoGradGuard no_grad;
  const EvalScope eval(*this);
  const EncoderOutput heard = perception_.forward(audio_BS, lengths_B);
  const UserChannel user = user_channel(heard.features_BTH);
  Frames frames(*this, audio_BS.size(0), user.frames_BTH.size(1));
  std::vector<at::Tensor> text, codes;
  for (int64_t t = 0; t < user.frames_BTH.size(1); ++t) {
    const Choice& choice = frames.next(user.narrow(t, 1));
    text.push_back(choice.text_B);
    codes.push_back(choice.codes_BK);
  }
  Generation out;
  out.tokens_text_BT = at::stack(text, 1);
  out.tokens_audio_BTK = at::stack(codes, 1);
  out.token_lens_B = heard.lengths_B;
  if (parts_.tokenizer != nullptr) {
    const at::Tensor text_BT = out.tokens_text_BT.cpu();
    const at::Tensor lengths = heard.lengths_B.cpu();
    for (int64_t b = 0; b < audio_BS.size(0); ++b) {
      const int64_t length = lengths[b].item<int64_t>();
      std::vector<int64_t> ids = to_vector(text_BT[b].narrow(0, 0, length));
      std::erase(ids, parts_.ids.pad);  // it may be a token that decoding shows
      out.text.push_back(parts_.tokenizer->decode(ids));
    }
  }
  if (decode_audio) {
    const FullPrecision full_precision;
    const at::Tensor spoken =
        replace_control_codes(out.tokens_audio_BTK, codec().silence_codes(), speech_);
    out.audio_BS = codec().decode(spoken.transpose(1, 2).contiguous());
    out.audio_lens_B = heard.lengths_B * codec().shape().samples_per_frame;
  }
  return out;
}

namespace {

class Session : public DuplexSession {
 public:
  explicit Session(DuplexModel& model)
      : model_(model),
        eval_(model),
        encoder_(model.perception().open_stream(1)),
        decoder_(model.codec().open_stream(1)),
        silence_K_(model.codec().silence_codes().cpu()),
        frames_(model, 1, 0) {}

  Output push(const at::Tensor& samples_S) override {
    const at::NoGradGuard no_grad;
    return answer(encoder_->push(samples_S.unsqueeze(0)), /*last=*/false);
  }

  Output finish() override {
    const at::NoGradGuard no_grad;
    return answer(encoder_->finish(), /*last=*/true);
  }

 private:
  /// Decodes the new frames and returns their tokens [T, 1 + K] on the CPU, text first. The host
  /// waits for the device once.
  at::Tensor tokens_of(const at::Tensor& frames_1TH) {
    const DuplexModel::UserChannel user = model_.user_channel(frames_1TH);
    std::vector<at::Tensor> tokens;
    for (int64_t t = 0; t < user.frames_BTH.size(1); ++t) {
      const DuplexModel::Choice& choice = frames_.next(user.narrow(t, 1));
      tokens.push_back(at::cat({choice.text_B.unsqueeze(1), choice.codes_BK}, 1));
    }
    return at::cat(tokens).cpu();
  }

  Output answer(const at::Tensor& frames_1TH, bool last) {
    Output out;
    std::vector<at::Tensor> audio;
    out.codes_TK = at::empty({0, 0}, at::kLong);
    if (frames_1TH.size(1) > 0) {
      const at::Tensor tokens = tokens_of(frames_1TH);
      out.text_tokens = to_vector(tokens.select(1, 0));
      out.codes_TK = tokens.narrow(1, 1, tokens.size(1) - 1);
      const at::Tensor spoken_KT =
          replace_control_codes(out.codes_TK, silence_K_, model_.speech_ids()).t();
      audio.push_back(decoder_->push(spoken_KT.unsqueeze(0).contiguous()));
    }
    if (last) audio.push_back(decoder_->finish());
    out.audio_S = (audio.empty() ? at::empty({1, 0}) : at::cat(audio, 1)).squeeze(0);
    return out;
  }

  DuplexModel& model_;
  EvalScope eval_;
  std::unique_ptr<EncoderStream> encoder_;
  std::unique_ptr<CodecStream> decoder_;
  at::Tensor silence_K_;
  Frames frames_;
};

}  // namespace

std::unique_ptr<DuplexSession> DuplexModel::open_session() {
  return std::make_unique<Session>(*this);
}

}  // namespace s2s::duplex
