#include "voicechat_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <functional>
#include <utility>

#include "s2s/error.h"
#include "s2s/nn/eval_scope.h"
#include "s2s/nn/full_precision.h"

namespace s2s::nemotron_voicechat {
namespace {

constexpr const char* kListener = "stt_model";  // NeMo's names
constexpr const char* kSpeaker = "tts_model";

[[noreturn]] void throw_training() {
  throw Error(ExitCode::kConfig, "voicechat/training",
              "model.type: nemotron_voicechat is for generate, validate and live sessions and is "
              "not trained\n  expected: train its parts alone (model.type: duplex_stt, "
              "duplex_eartts)");
}

void add_names(const NameMap& names, const std::string& part, NameMap& all) {
  const std::string prefix = part + ".";
  for (const NameRule& rule : names.rules) {
    all.rules.push_back({prefix + rule.ours, prefix + rule.theirs});
  }
  for (const NameRule& rule : names.other_spellings) {
    all.other_spellings.push_back({prefix + rule.ours, prefix + rule.theirs});
  }
  for (const std::string& name : names.ignored) all.ignored.push_back(prefix + name);
}

at::Device device_of(Model& model) { return model.named_parameters().front().tensor->device(); }

/// Codes without speech for the first frame: 0 in every book, as in NeMo.
at::Tensor first_codes(const CodecShape& codec, int64_t rows, at::Device device) {
  return at::zeros({rows, 1, codec.num_codebooks}, at::TensorOptions(at::kLong).device(device));
}

/// Conversations in which the text that the listener writes in a frame is spoken at once.
class Sessions : public DuplexSessions {
 public:
  /// `open_speech` begins speech with the voice of the configuration.
  Sessions(Model& model, std::unique_ptr<DuplexSessions> listener, Codec& codec,
           std::function<std::unique_ptr<SpokenChannel>()> open_speech)
      : eval_(model),
        device_(device_of(model)),
        listener_(std::move(listener)),
        codec_(codec),
        open_speech_(std::move(open_speech)),
        voices_(static_cast<size_t>(listener_->num_slots())) {}

  int64_t num_slots() const override { return listener_->num_slots(); }

  void open(int64_t slot, const SamplingOptions& sampling) override {
    const at::NoGradGuard no_grad;
    listener_->open(slot, sampling);
    voices_.at(static_cast<size_t>(slot)) = {open_speech_(), codec_.open_stream(1)};
  }

  std::vector<Output> push(const std::vector<at::Tensor>& samples) override {
    std::vector<Output> outputs = listener_->push(samples);
    for (size_t slot = 0; slot < outputs.size(); ++slot) speak(voices_[slot], outputs[slot]);
    return outputs;
  }

  Output close(int64_t slot) override {
    Voice& voice = voices_.at(static_cast<size_t>(slot));
    Output out = listener_->close(slot);
    speak(voice, out);
    const at::NoGradGuard no_grad;
    const FullPrecision full_precision;
    out.audio_S = at::cat({out.audio_S, voice.decoder->finish().reshape({-1}).cpu()});
    voice = {};
    return out;
  }

 private:
  struct Voice {
    std::unique_ptr<SpokenChannel> speech;
    std::unique_ptr<CodecStream> decoder;
    bool is_first = true;
  };

  /// Adds the speech of the written text.
  void speak(Voice& voice, Output& out) {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> codes, audio = {at::empty({0}, at::kFloat)};
    for (const int64_t id : out.text_tokens) {
      codes.push_back(codes_of(voice, id).cpu());
      const FullPrecision full_precision;
      audio.push_back(voice.decoder->push(codes.back().transpose(1, 2)).reshape({-1}).cpu());
    }
    out.audio_S = at::cat(audio);
    out.codes_TK = codes.empty() ? at::empty({0, codec_.shape().num_codebooks}, at::kLong)
                                 : at::cat(codes, 1).squeeze(0);
  }

  /// Returns codes [1, 1, K].
  at::Tensor codes_of(Voice& voice, int64_t id) {
    if (std::exchange(voice.is_first, false)) return first_codes(codec_.shape(), 1, device_);
    return voice.speech->push(at::full({1, 1}, id, at::TensorOptions(at::kLong).device(device_)));
  }

  EvalScope eval_;
  at::Device device_;
  std::unique_ptr<DuplexSessions> listener_;
  Codec& codec_;
  std::function<std::unique_ptr<SpokenChannel>()> open_speech_;
  std::vector<Voice> voices_;
};

}  // namespace

VoiceChatModel::VoiceChatModel(VoiceChatParts parts)
    : parts_(std::move(parts)),
      listens_(require_capability<AnswersSpeech>(*parts_.listener, parts_.path + ".stt.model",
                                                 "listen")),
      speaks_(require_capability<SpeaksText>(
          *parts_.speaker, parts_.path + ".speech_generation.model", "speak a text")) {
  register_block(kListener, *parts_.listener);
  register_block(kSpeaker, *parts_.speaker);
}

VoiceChatModel::~VoiceChatModel() = default;

BatchWeight VoiceChatModel::weigh(const Batch& batch) { return parts_.listener->weigh(batch); }

MetricSums VoiceChatModel::evaluate(const Batch& batch) { return parts_.listener->evaluate(batch); }

std::map<std::string, double> VoiceChatModel::metrics_of(const MetricSums& sums) const {
  return parts_.listener->metrics_of(sums);
}

std::vector<std::string> VoiceChatModel::metric_names() const {
  return parts_.listener->metric_names();
}

LossTerms VoiceChatModel::training_loss(const Batch& /*batch*/, const StepContext& /*context*/) {
  throw_training();
}

ShardPlan VoiceChatModel::configure_model(const MeshShape& mesh) const {
  ShardPlan plan = parts_.listener->configure_model(mesh).nested_under(kListener);
  plan.append(parts_.speaker->configure_model(mesh).nested_under(kSpeaker));
  return plan;
}

NameMap VoiceChatModel::checkpoint_names() const {
  NameMap names;
  add_names(parts_.listener->checkpoint_names(), kListener, names);
  add_names(parts_.speaker->checkpoint_names(), kSpeaker, names);
  return names;
}

void VoiceChatModel::choose_tokens_by(const SamplingOptions& sampling) {
  listens_.choose_tokens_by(sampling);
}

int64_t VoiceChatModel::answer_sample_rate_hz() const {
  return speaks_.codec().shape().sample_rate_hz;
}

std::unique_ptr<SpokenChannel> VoiceChatModel::open_speech(const Batch& batch, at::Device device) {
  const auto [voices_BS, lengths_B] = speaks_.voices_of(batch);
  return speaks_.open_speech(voices_BS.to(device), lengths_B.to(device));
}

bool VoiceChatModel::answers_in_evaluate() const {
  const auto* const shares = find_capability<SharesWidths>(*parts_.listener);
  return shares != nullptr && shares->answers_in_evaluate();
}

std::vector<PaddedTensor> VoiceChatModel::padded_tensors() const {
  const auto* const shares = find_capability<SharesWidths>(*parts_.listener);
  return shares == nullptr ? std::vector<PaddedTensor>() : shares->padded_tensors();
}

Generation VoiceChatModel::answer(const Batch& batch, bool decode_audio) {
  const at::NoGradGuard no_grad;
  const EvalScope eval(*this);
  Generation out = listens_.answer(batch, /*decode_audio=*/false);
  const CodecShape codec = speaks_.codec().shape();
  const at::Tensor& text_BT = out.tokens_text_BT;
  out.tokens_audio_BTK = at::cat({first_codes(codec, text_BT.size(0), text_BT.device()),
                                  open_speech(batch, text_BT.device())->push(text_BT.slice(1, 1))},
                                 1);
  if (!decode_audio) return out;
  const FullPrecision full_precision;
  out.audio_BS = speaks_.codec().decode(out.tokens_audio_BTK.transpose(1, 2));
  out.audio_lens_B = out.token_lens_B * codec.samples_per_frame;
  return out;
}

Generation VoiceChatModel::generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                                    bool decode_audio) {
  Batch batch;
  batch.source_audio_BS = audio_BS;
  batch.source_audio_lens_B = lengths_B;
  batch.ids.resize(static_cast<size_t>(audio_BS.size(0)));
  return answer(batch, decode_audio);
}

std::unique_ptr<DuplexSessions> VoiceChatModel::open_sessions(int64_t num_slots) {
  std::unique_ptr<DuplexSessions> listener = listens_.open_sessions(num_slots);
  if (listener == nullptr) return nullptr;
  return std::make_unique<Sessions>(*this, std::move(listener), codec(), [this] {
    Batch batch;
    batch.ids.resize(1);
    return open_speech(batch, device_of(*this));
  });
}

std::vector<std::string> VoiceChatModel::decoded_outputs() const {
  return {"tokens_text", "tokens_len", "tokens_audio", "audio"};
}

std::map<std::string, at::Tensor> VoiceChatModel::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  if (training) throw_training();
  Batch batch;
  batch.source_audio_BS = inputs.at("source_audio");
  batch.source_audio_lens_B = inputs.at("source_audio_lens").to(at::kLong);
  batch.ids.resize(static_cast<size_t>(batch.source_audio_BS.size(0)));
  batch.others = inputs;
  const Generation out = answer(batch, /*decode_audio=*/true);
  return {{"tokens_text", out.tokens_text_BT},
          {"tokens_len", out.token_lens_B},
          {"tokens_audio", out.tokens_audio_BTK},
          {"audio", out.audio_BS}};
}

}  // namespace s2s::nemotron_voicechat
