#pragma once
// DuplexModel: a language model with one text head and one flat audio head over K codebooks. It
// receives the user's audio frame by frame while it predicts the agent's text and codes. Results
// follow NeMo's DuplexS2SModel; core/docs/internals/duplex.md lists the extensions. Shape letters:
// B batch, S samples, T frames, H hidden, K codebooks, V vocabulary.

#include <memory>
#include <optional>
#include <vector>

#include "channels.h"
#include "duplex_options.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/model_flops.h"
#include "s2s/nn/perception.h"
#include "s2s/nn/token_choice.h"
#include "s2s/registry.h"
#include "speech_decoder.h"
#include "user_text.h"

namespace s2s::duplex_s2s {

struct DuplexParts {
  std::unique_ptr<Backbone> llm;
  std::unique_ptr<Encoder> encoder;
  std::unique_ptr<SpeechDecoder> speech_decoder;  // null: a flat head predicts the codes
  std::unique_ptr<Codec> codec;  // null when batches contain codes (reference files)
  int64_t num_codebooks = 0;
  int64_t codebook_size = 0;
  const Tokenizer* tokenizer = nullptr;  // may be null with explicit ids
  SpecialIds ids;
  double frame_length_s = 0.08;
};

class DuplexModel : public Model,
                    public HasLanguageModel,
                    public HasCodec,
                    public AnswersSpeech,
                    public RunsReferences,
                    public MakesProbeBatches {
 public:
  DuplexModel(DuplexOptions options, DuplexParts parts);
  ~DuplexModel() override;

  BatchWeight weigh(const Batch& batch) override;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  MetricSums evaluate(const Batch& batch) override;
  std::vector<std::string> metric_names() const override;
  void choose_tokens_by(const SamplingOptions& sampling) override { sampling_ = sampling; }
  Generation generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                      bool decode_audio) override;
  std::unique_ptr<DuplexSessions> open_sessions(int64_t num_slots) override;
  Codec& codec() override;
  Backbone& language_model() override { return *parts_.llm; }
  const Tokenizer& tokenizer() const override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  std::vector<StagePart> stages() override {
    return stages_around(*this, "llm", {"audio_head", "speech_generation"});
  }
  NameMap checkpoint_names() const override;
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  double frame_length_s() const override { return parts_.frame_length_s; }
  int64_t source_sample_rate_hz() const override;
  int64_t answer_sample_rate_hz() const override;
  Batch probe_batch(const ProbeBatch& shape) override;

  /// The tokens of one frame.
  struct Choice {
    at::Tensor text_B;    // int64
    at::Tensor codes_BK;  // int64
    at::Tensor held_B;    // int64, the last text token except PAD
  };
  /// The tokens before the first frame: PAD and the delay code.
  Choice initial_choice(int64_t batch_size, at::Device device) const;
  /// The user's input to the language model.
  struct UserChannel {
    at::Tensor frames_BTH;  // scaled, with predicted words added
    HeardWords words;       // undefined without the user-text channel
    UserChannel narrow(int64_t first, int64_t num_frames) const {
      return {frames_BTH.narrow(1, first, num_frames), words.narrow(first, num_frames)};
    }
  };
  /// `truth_BT`: see UserTextHead::words.
  UserChannel user_channel(const at::Tensor& features_BTH, const at::Tensor& truth_BT = {});
  /// The input of the text head: `hidden`, with `copy` plus attended words.
  at::Tensor text_state(const at::Tensor& hidden_BTH, const HeardWords& words,
                        SequenceState* state = nullptr, const std::vector<int64_t>& rows = {});
  /// The input of the audio head: `hidden`, or the speech decoder's output for it and the codes of
  /// the previous frames.
  at::Tensor audio_state(const at::Tensor& hidden_BTH, const at::Tensor& codes_BTK,
                         SequenceState* state = nullptr, const std::vector<int64_t>& rows = {});
  /// The state of conversations, one row each.
  struct Memory {
    /// For a batch. Chooses tokens as set by choose_tokens_by.
    explicit Memory(const DuplexModel& model);
    /// For slots, which start one by one.
    Memory(const DuplexModel& model, int64_t num_slots);
    void begin(int64_t slot, const SamplingOptions& sampling);
    SequenceState llm, words, speech;
    TokenChoice choice;

   private:
    const SpeechDecoder* decoder_ = nullptr;
  };
  /// Predicts a frame from the user's frame and the previous tokens. `rows`: those of the memory;
  /// empty: all.
  Choice step(const UserChannel& user, const Choice& previous, Memory& memory,
              const std::vector<int64_t>& rows = {});
  /// True if a device graph can repeat `step`.
  bool steps_repeat();
  Perception& perception() { return perception_; }
  const SpecialIds& ids() const { return parts_.ids; }
  /// Maps audio_state to logits over all codebooks.
  HeadWeight audio_head();
  const SpeechIds& speech_ids() const { return speech_; }

 private:
  friend class TrainingStep;

  void register_audio_embeddings();
  /// Adds the floating-point operations of a micro-batch. `width`: frames of each row in the
  /// language model.
  void add_flops(const Batch& batch, int64_t width, BatchWeight& weight);
  /// Adds each codebook's embedding to sum [B, T, H]; does nothing with a speech decoder. The order
  /// of the sums is NeMo's: training adds text, codes, user; decoding adds user, text, codes.
  at::Tensor add_codes(at::Tensor sum_BTH, const at::Tensor& audio_BTK);
  at::Tensor text_embedding(const at::Tensor& text_BT);
  /// Adds the embedding of the held token; without text_hold, returns `x`.
  at::Tensor add_held_text(const at::Tensor& x_BTH, const at::Tensor& held_BT);
  /// Codes of the batch [B, T, K] and their lengths [B]. Runs the codec if the batch has none.
  std::pair<at::Tensor, at::Tensor> target_codes(const Batch& batch);

  DuplexOptions options_;
  DuplexParts parts_;
  SpeechIds speech_;
  SamplingOptions sampling_;
  Perception perception_;
  std::vector<std::unique_ptr<Embedding>> embed_audio_tokens_;
  std::unique_ptr<Embedding> embed_held_text_;
  std::unique_ptr<Linear> flat_head_;  // null with a speech decoder
  std::unique_ptr<UserTextHead> user_text_;
  std::optional<ProductWeights> product_weights_;  // empty before the first micro-batch
};

}  // namespace s2s::duplex_s2s
