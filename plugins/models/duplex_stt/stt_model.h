#pragma once
// SttModel is a duplex model that answers in text. The language model reads the user's frames and
// predicts the agent's text channel and, with predict_user_text, the user's words. Results equal
// those of NeMo's DuplexSTTModel.
// Shape letters: B batch, S samples, T frames, H hidden, V vocabulary.

#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/backbone.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/shared_widths.h"
#include "s2s/nn/eval_scope.h"
#include "s2s/nn/layers.h"
#include "s2s/nn/perception.h"
#include "s2s/nn/token_sampling.h"
#include "stt_options.h"

namespace s2s::duplex_stt {

struct SttParts {
  std::unique_ptr<Backbone> llm;
  std::unique_ptr<Encoder> encoder;
  const Tokenizer* tokenizer = nullptr;  // may be null if the ids are given
  SpecialIds ids;
  std::vector<int64_t> user_bos, user_eos;  // ids of the begin and end of the user's turns
  std::vector<int64_t> prompt;  // model.system_prompt between BOS and EOS; empty without a prompt
  double frame_length_s = 0.08;
};

/// The prompts of a batch. Both tensors are undefined without prompts.
struct Prompts {
  at::Tensor tokens_BP, lens_B;
  bool any() const { return tokens_BP.defined(); }
};

class SttModel : public Model,
                 public HasLanguageModel,
                 public AnswersSpeech,
                 public SharesWidths,
                 public RunsReferences,
                 public MakesProbeBatches {
 public:
  SttModel(SttOptions options, SttParts parts);
  ~SttModel() override;

  BatchWeight weigh(const Batch& batch) override;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  MetricSums evaluate(const Batch& batch) override;
  std::vector<std::string> metric_names() const override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  std::vector<StagePart> stages() override { return stages_around(*this, "llm", {"asr_head"}); }
  NameMap checkpoint_names() const override;

  Backbone& language_model() override { return *parts_.llm; }
  void choose_tokens_by(const SamplingOptions& sampling) override { sampling_ = sampling; }
  Generation generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                      bool decode_audio) override;
  /// Uses the prompts of the batch, if it has any.
  Generation answer(const Batch& batch, bool decode_audio) override;
  bool answers_in_evaluate() const override { return options_.answer_metrics; }
  std::vector<PaddedTensor> padded_tensors() const override;
  std::unique_ptr<DuplexSessions> open_sessions(int64_t num_slots) override;
  const Tokenizer& tokenizer() const override;
  double frame_length_s() const override { return parts_.frame_length_s; }
  int64_t source_sample_rate_hz() const override;
  int64_t answer_sample_rate_hz() const override { return 0; }
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  std::vector<std::string> decoded_outputs() const override;
  Batch probe_batch(const ProbeBatch& shape) override;

  const SttOptions& options() const { return options_; }
  const SttParts& parts() const { return parts_; }
  const SamplingOptions& sampling() const { return sampling_; }
  Perception& perception() { return perception_; }
  Backbone& llm() { return *parts_.llm; }
  /// The head of the user's channel, or null without predict_user_text.
  Linear* asr_head() { return user_ ? &user_->head : nullptr; }
  /// The input of the language model: the sum of the user's frames [B, T, H] and the embeddings of
  /// agent and user tokens [B, T]. `user_BT` is not read without predict_user_text.
  at::Tensor input_embeds(const at::Tensor& frames_BTH, const at::Tensor& agent_BT,
                          const at::Tensor& user_BT);
  /// The same input, added in the order of NeMo's decoding.
  at::Tensor decoding_embeds(const at::Tensor& frames_BTH, const at::Tensor& agent_BT,
                             const at::Tensor& user_BT);

 protected:
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  Generation answer_after(const Prompts& prompts, const at::Tensor& audio_BS,
                          const at::Tensor& lengths_B);
  /// The parts of the user's text channel. Their tensors begin as copies of the language model's.
  struct UserChannel {
    UserChannel(const BackboneShape& shape, Init embedding, Init head, int64_t padding_idx);
    Linear head;
    Embedding embedding;
  };
  at::Tensor agent_embeds(const at::Tensor& agent_BT);
  at::Tensor user_embeds(const at::Tensor& user_BT);
  void add_user_channel();
  /// Adds the operations of `rows` rows with `width` positions in the language model.
  void add_flops(int64_t rows, int64_t width, BatchWeight& weight);

  SttOptions options_;
  SttParts parts_;
  SamplingOptions sampling_;
  Perception perception_;
  std::unique_ptr<UserChannel> user_;
  double embedding_scale_ = 1;  // of the language model's family
};

}  // namespace s2s::duplex_stt
