#pragma once
// MoshiModel: a decoder over frames, with the sum of the agent's text, the agent's codes and the
// user's codes as input. A depth decoder predicts the agent's codes of a frame in turn. Results
// follow transformers' MoshiForConditionalGeneration. Shape letters: B batch, T frames, S samples,
// K codebooks, H hidden, N frames of all rows, C hidden of the depth decoder.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "moshi_decoder.h"
#include "moshi_depth.h"
#include "moshi_options.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/token_choice.h"

namespace s2s::two_level {

struct MoshiParts {
  std::unique_ptr<Codec> codec;          // null when batches contain codes
  const Tokenizer* tokenizer = nullptr;  // may be null
  int64_t pad = -1;                      // text id of frames without text; -1: none
  double frame_length_s = 0.08;
};

/// The streams of a batch, of equal width. Codes beyond a row's length are arbitrary valid codes.
struct MoshiStreams {
  at::Tensor text_BT, own_BKT, user_BKT, lengths_B;
};

/// Inputs, labels and weights of a training step.
struct MoshiStep {
  MoshiStreams inputs;
  at::Tensor text_labels_BT, text_weights_BT;
  at::Tensor depth_text_BT;                    // the text id that the depth decoder reads
  at::Tensor code_labels_BKT;                  // audio_vocab_size: before a book's first code
  at::Tensor code_weights_BKT;                 // 0 there
  double text_divisor = 0, depth_divisor = 0;  // with loss_form transformers: sums of the weights
};

class MoshiModel : public Model,
                   public HasCodec,
                   public RunsReferences,
                   public AnswersSpeech,
                   public MakesProbeBatches,
                   public HasForeignClass,
                   public TakesAdapters {
 public:
  MoshiModel(MoshiOptions options, MoshiParts parts, const std::string& path);
  ~MoshiModel() override;

  BatchWeight weigh(const Batch& batch) override;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  MetricSums evaluate(const Batch& batch) override;
  std::vector<std::string> metric_names() const override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  NameMap checkpoint_names() const override;
  std::vector<StagePart> stages() override {
    return stages_around(*this, "decoder.model", {"decoder.lm_head", "depth_decoder"});
  }
  Codec& codec() override;
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  std::vector<std::string> decoded_outputs() const override;
  void choose_tokens_by(const SamplingOptions& sampling) override { sampling_ = sampling; }
  Generation generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                      bool decode_audio) override;
  /// Null without a codec, or if it encodes only whole recordings.
  std::unique_ptr<DuplexSessions> open_sessions(int64_t num_slots) override;
  const Tokenizer& tokenizer() const override;
  double frame_length_s() const override { return parts_.frame_length_s; }
  int64_t source_sample_rate_hz() const override;
  int64_t answer_sample_rate_hz() const override;
  Batch probe_batch(const ProbeBatch& shape) override;
  Config hf_config() const override { return moshi_to_hf(options_); }
  ForeignParts foreign_parts() const override;

  /// The start of a conversation, which replaces the model's output.
  struct Prompt {
    at::Tensor text_BT, own_BKT;
    int64_t frames() const { return text_BT.defined() ? text_BT.size(1) : 0; }
  };
  struct Spoken {
    at::Tensor text_BT, codes_BKT;  // including the prompt
  };
  class Conversation;
  /// Answers the user's codes [B, K, T] frame by frame.
  Spoken speak(const at::Tensor& user_BKT, const Prompt& prompt);

 protected:
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  at::Tensor embed(const MoshiStreams& streams);
  MoshiStreams streams_of(const Batch& batch);
  at::Tensor user_codes(const Batch& batch, at::Tensor& lengths_B);
  MoshiStep prepare(const MoshiStreams& streams) const;
  MoshiStep as_class(const MoshiStreams& streams) const;
  at::Tensor delayed(const at::Tensor& codes_BKT) const;
  /// The codes before the first frame, [B, K, 1].
  at::Tensor no_codes(const at::Tensor& like_BKT) const;
  /// Text ids that are no words: PAD, and end_of_padding_id.
  std::vector<int64_t> silent_ids() const;
  /// The text channel that others read: PAD in place of end_of_padding_id.
  at::Tensor shown_text(const at::Tensor& text) const;
  at::Tensor text_weights(const at::Tensor& labels_BT, const at::Tensor& valid_BT) const;
  at::Tensor states(const MoshiStep& step);
  at::Tensor depth_states(const MoshiStep& step, const at::Tensor& hidden_BTH);
  BookLabels book_labels(const MoshiStep& step, const at::Tensor& states_NKC) const;
  LossTerms losses(const MoshiStep& step, const at::Tensor& hidden_BTH,
                   const at::Tensor& states_NKC);
  /// The codes [B, K] of the frame after a state [B, H], given its text.
  at::Tensor depth_codes(const at::Tensor& state_BH, const at::Tensor& text_B, TokenChoice& choice,
                         const std::vector<int64_t>& slots);
  std::map<std::string, at::Tensor> decoded(const std::map<std::string, at::Tensor>& inputs);

  MoshiOptions options_;
  MoshiParts parts_;
  SamplingOptions sampling_;
  std::vector<std::unique_ptr<Embedding>> embed_tokens_;  // the agent's books, then the user's
  MoshiDecoder decoder_;
  Linear lm_head_;
  MoshiDepth depth_;
  std::vector<NamedTensor> own_;  // tensors of Moshi's checkpoints
};

}  // namespace s2s::two_level
