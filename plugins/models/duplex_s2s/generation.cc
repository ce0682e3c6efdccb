// Decodes whole recordings, and live sessions frame by frame.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "duplex_errors.h"
#include "duplex_model.h"
#include "frames.h"
#include "s2s/nn/eval_scope.h"
#include "s2s/nn/full_precision.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/slot_sessions.h"

namespace s2s::duplex_s2s {

DuplexModel::Choice DuplexModel::initial_choice(int64_t batch_size, at::Device device) const {
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  return {at::full({batch_size}, parts_.ids.pad, options),
          at::full({batch_size, parts_.num_codebooks}, speech_.delay, options),
          at::full({batch_size}, parts_.ids.pad, options)};
}

namespace {

std::vector<int64_t> marks_of(const SpecialIds& ids) { return {ids.pad, ids.bos, ids.eos}; }

}  // namespace

DuplexModel::Memory::Memory(const DuplexModel& model)
    : llm(model.parts_.llm->shape().num_layers),
      words(1),
      speech(model.parts_.speech_decoder ? model.parts_.speech_decoder->num_layers() : 0),
      choice(model.sampling_, marks_of(model.parts_.ids)) {}

DuplexModel::Memory::Memory(const DuplexModel& model, int64_t num_slots)
    : llm(model.parts_.llm->shape().num_layers, num_slots),
      words(1, num_slots),
      speech(model.parts_.speech_decoder ? model.parts_.speech_decoder->num_layers() : 0,
             model.parts_.speech_decoder ? model.parts_.speech_decoder->state_rows(num_slots) : 0),
      choice(TokenChoice::of_slots(num_slots, marks_of(model.parts_.ids))),
      decoder_(model.parts_.speech_decoder.get()) {}

void DuplexModel::Memory::begin(int64_t slot, const SamplingOptions& sampling) {
  llm.reset_row(slot);
  words.reset_row(slot);
  if (decoder_ != nullptr) decoder_->reset(speech, slot);
  choice.begin(slot, sampling);
}

DuplexModel::Choice DuplexModel::step(const UserChannel& user, const Choice& previous,
                                      Memory& memory, const std::vector<int64_t>& rows) {
  const at::Tensor said_B1H =
      add_codes(user.frames_BTH + text_embedding(previous.text_B.unsqueeze(1)),
                previous.codes_BK.unsqueeze(1));
  const at::Tensor x_B1H = add_held_text(said_B1H, previous.held_B.unsqueeze(1));
  SequenceInfo info;
  info.state = &memory.llm;
  info.rows = rows;
  const at::Tensor hidden_B1H = (*parts_.llm)(x_B1H, info);
  const at::Tensor text_BH = text_state(hidden_B1H, user.words, &memory.words, rows).squeeze(1);
  // NeMo skips a family's soft cap, here and in training.
  const at::Tensor text = memory.choice.text(parts_.llm->logits(text_BH, /*soft_cap=*/false), rows);
  memory.choice.said(text, rows);
  const at::Tensor audio_BH =
      audio_state(hidden_B1H, previous.codes_BK.unsqueeze(1), &memory.speech, rows).squeeze(1);
  const at::Tensor logits_BKV = head_logits(audio_BH, audio_head(), parts_.num_codebooks)
                                    .view({audio_BH.size(0), parts_.num_codebooks, -1});
  const at::Tensor codes = memory.choice.codes(logits_BKV, rows);
  return {text, codes, at::where(text.eq(parts_.ids.pad), previous.held_B, text)};
}

bool DuplexModel::steps_repeat() {
  // A graph cannot repeat parallel strategies. Copying and a speech decoder attend to more
  // positions at each step.
  const bool copies = user_text_ && user_text_->copy() != nullptr;
  return !copies && !parts_.speech_decoder && parts_.llm->hooks() == nullptr &&
         parts_.llm->steps_repeat();
}

Generation DuplexModel::generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                                 bool decode_audio) {
  const at::NoGradGuard no_grad;
  const EvalScope eval(*this);
  const EncoderOutput heard = perception_.forward(audio_BS, lengths_B);
  const UserChannel user = user_channel(heard.features_BTH);
  Frames frames(*this, audio_BS.size(0), user.frames_BTH.size(1));
  std::vector<at::Tensor> text, codes;
  for (int64_t t = 0; t < user.frames_BTH.size(1); ++t) {
    const Choice choice = frames.next(user.narrow(t, 1));
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
      std::erase(ids, parts_.ids.pad);  // decoding may not skip it
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

class Slots final : public SlotDecoder {
 public:
  Slots(DuplexModel& model, int64_t num_slots)
      : model_(model), silence_K_(model.codec().silence_codes().cpu()), frames_(model, num_slots) {}

  void begin(int64_t slot, const SamplingOptions& sampling) override {
    frames_.begin(slot, sampling);
  }
  at::Tensor next(const at::Tensor& heard_BH, const std::vector<int64_t>& slots) override {
    const DuplexModel::Choice choice =
        frames_.next(model_.user_channel(heard_BH.unsqueeze(1)), slots);
    return at::cat({choice.text_B.unsqueeze(1), choice.codes_BK}, 1);
  }
  std::unique_ptr<EncoderStream> open_listener() override {
    return model_.perception().open_stream(1);
  }
  std::unique_ptr<CodecStream> open_speaker() override { return model_.codec().open_stream(1); }
  at::Tensor spoken(const at::Tensor& codes_TK) override {
    return replace_control_codes(codes_TK, silence_K_, model_.speech_ids());
  }

 private:
  DuplexModel& model_;
  at::Tensor silence_K_;
  Frames frames_;
};

}  // namespace

std::unique_ptr<DuplexSessions> DuplexModel::open_sessions(int64_t num_slots) {
  return slot_sessions(*this, std::make_unique<Slots>(*this, num_slots), num_slots);
}

}  // namespace s2s::duplex_s2s
