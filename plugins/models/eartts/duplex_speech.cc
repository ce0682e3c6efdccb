// DuplexEarTts speaks frame by frame, given a voice and a text channel.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "duplex_model.h"
#include "eartts_errors.h"
#include "s2s/nn/eval_scope.h"

namespace s2s::eartts {

/// Source: NeMo's DuplexEARTTS.offline_inference and infer_codes_one_step.
class DuplexEarTts::Speech : public SpokenChannel {
 public:
  Speech(DuplexEarTts& model, const at::Tensor& voices_BS, const at::Tensor& lengths_B)
      : eval_(model),
        model_(model),
        is_guided_(model.sampling_.guidance > 0),
        noise_(model.sampling_.noise()),
        state_(model.parts_.core->backbone().shape().num_layers) {
    const at::NoGradGuard no_grad;
    model.bind_codec();
    TtsInputs prompt = model.maker_.prompt_inputs(voices_BS, lengths_B, model.codec());
    model.add_context(prompt);
    model.parts_.core->prompt_states(prompt, is_guided_, &state_);
    const int64_t last = prompt.code_BTK.size(1) - 1;
    step_.code_BTK = prompt.code_BTK.slice(1, last);
    step_.text_BT = prompt.subword_ids_BT.slice(1, last);  // one step after the text
  }

  at::Tensor push(const at::Tensor& text_BN) override {
    const at::NoGradGuard no_grad;
    TtsCore& core = *model_.parts_.core;
    std::vector<at::Tensor> codes;
    for (int64_t i = 0; i < text_BN.size(1); ++i) {
      step_.subword_ids_BT = text_BN.slice(1, i, i + 1);
      step_.subword_mask_BT = at::ones_like(step_.subword_ids_BT, at::kBool);
      if (model_.options_.inference_force_speech_silence_on_eos) {
        const at::Tensor ends_BT1 = step_.subword_ids_BT.eq(model_.parts_.ids.eos).unsqueeze(-1);
        step_.code_BTK = at::where(ends_BT1, model_.silence_K_, step_.code_BTK);
      }
      model_.add_context(step_);
      step_.code_BTK =
          core.generate(core.next_states(step_, is_guided_, state_), model_.sampling_, noise_);
      step_.text_BT = step_.subword_ids_BT;
      codes.push_back(step_.code_BTK);
    }
    if (codes.empty()) return step_.code_BTK.slice(1, 0, 0);
    return at::cat(codes, 1);
  }

 private:
  EvalScope eval_;
  DuplexEarTts& model_;
  bool is_guided_;
  at::Generator noise_;
  SequenceState state_;
  TtsInputs step_;  // the last frame: its code and its text
};

std::unique_ptr<SpokenChannel> DuplexEarTts::open_speech(const at::Tensor& voices_BS,
                                                         const at::Tensor& lengths_B) {
  return std::make_unique<Speech>(*this, voices_BS, lengths_B);
}

std::pair<at::Tensor, at::Tensor> DuplexEarTts::voices_of(const Batch& batch) {
  const auto rows = static_cast<int64_t>(batch.ids.size());
  const at::Device device = silence_K_.device();
  const auto repeated = [&](const at::Tensor& voice_S) {
    return std::pair(
        voice_S.to(device).unsqueeze(0).expand({rows, -1}),
        at::full({rows}, voice_S.size(0), at::TensorOptions(at::kLong).device(device)));
  };
  if (!parts_.voice_path.empty()) {
    return repeated(read_voice(parts_.voice_path, parts_.codec->shape().sample_rate_hz));
  }
  if (const auto given = batch.others.find("audio_prompt"); given != batch.others.end()) {
    return {given->second, batch.others.at("audio_prompt_lens").to(at::kLong)};
  }
  if (!batch.target_audio_BS.defined()) return repeated(at::zeros({1}));
  return maker_.voices_of(batch);
}

at::Tensor DuplexEarTts::channel_of(const std::string& text) const {
  std::vector<int64_t> ids = tokenizer().encode(text);
  ids.insert(ids.begin(), parts_.ids.bos);
  const auto count = static_cast<int64_t>(ids.size());
  const int64_t lead = options_.text_channel.lead_frames;
  at::Tensor channel_N =
      at::full({lead + count * options_.text_channel.frames_per_token}, parts_.ids.pad, at::kLong);
  channel_N.slice(0, lead, lead + count).copy_(at::tensor(ids, at::kLong));
  return channel_N;
}

const Tokenizer& DuplexEarTts::tokenizer() const {
  if (parts_.tokenizer == nullptr) throw no_tokenizer_error();
  return *parts_.tokenizer;
}

}  // namespace s2s::eartts
