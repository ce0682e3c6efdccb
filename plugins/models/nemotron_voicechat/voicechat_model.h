#pragma once
// VoiceChatModel joins two models for inference: one that listens and writes (duplex_stt), and one
// that speaks the written text channel (duplex_eartts). Source: NeMo's NemotronVoiceChat.
// Shape letters: B batch, S samples, T frames, K books.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/shared_widths.h"

namespace s2s::nemotron_voicechat {

struct VoiceChatParts {
  std::unique_ptr<Model> listener, speaker;
  std::string path;  // of the model's options, in messages
};

class VoiceChatModel : public Model,
                       public HasCodec,
                       public AnswersSpeech,
                       public SharesWidths,
                       public RunsReferences {
 public:
  /// Errors: [model/capability] when a part cannot listen or speak.
  explicit VoiceChatModel(VoiceChatParts parts);
  ~VoiceChatModel() override;

  /// Returns the weight for the model that listens.
  BatchWeight weigh(const Batch& batch) override;
  MetricSums evaluate(const Batch& batch) override;
  std::map<std::string, double> metrics_of(const MetricSums& sums) const override;
  std::vector<std::string> metric_names() const override;
  /// Always throws [voicechat/training].
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  NameMap checkpoint_names() const override;

  Codec& codec() override { return speaks_.codec(); }
  void choose_tokens_by(const SamplingOptions& sampling) override;
  Generation generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                      bool decode_audio) override;
  /// Uses the voices of the batch if the configuration has none.
  Generation answer(const Batch& batch, bool decode_audio) override;
  bool answers_in_evaluate() const override;
  std::vector<PaddedTensor> padded_tensors() const override;
  std::unique_ptr<DuplexSessions> open_sessions(int64_t num_slots) override;
  const Tokenizer& tokenizer() const override { return listens_.tokenizer(); }
  double frame_length_s() const override { return listens_.frame_length_s(); }
  int64_t source_sample_rate_hz() const override { return listens_.source_sample_rate_hz(); }
  int64_t answer_sample_rate_hz() const override;
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  std::vector<std::string> decoded_outputs() const override;

 private:
  /// Opens speech in the voices of `batch`.
  std::unique_ptr<SpokenChannel> open_speech(const Batch& batch, at::Device device);
  VoiceChatParts parts_;
  AnswersSpeech& listens_;
  SpeaksText& speaks_;
};

}  // namespace s2s::nemotron_voicechat
