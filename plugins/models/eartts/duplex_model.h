#pragma once
// DuplexEarTts: a codec and a speech model that predicts its codes. Speaks an agent's text channel
// with a given voice. Source: NeMo's DuplexEARTTS. Shape letters: B batch, S samples, T frames, K
// books, N frames of text.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "duplex_batch.h"
#include "eartts_model.h"
#include "s2s/foreign_class.h"

namespace s2s::eartts {

/// A language model's table of text embeddings, which condition the speech. Not trained.
struct TextEmbeddingOptions {
  std::optional<std::string> path;
  std::optional<int64_t> vocab_size;
  void visit(OptionVisitor& v) {
    v("path", path, "file or folder with the language model's weights; null: random");
    v("vocab_size", vocab_size, "rows of the table; null: as the tokenizer", at_least(1));
  }
};

/// The text channel of a text without a conversation. Source: NeMo's duplex_eartts_eval.py.
struct TextChannelOptions {
  int64_t lead_frames = 25;
  int64_t frames_per_token = 5;
  void visit(OptionVisitor& v) {
    v("lead_frames", lead_frames, "silent frames in front of the text", at_least(0));
    v("frames_per_token", frames_per_token,
      "frames of speech for each token of the text and the one that begins it", at_least(1));
  }
};

/// The `model` block without the keys of the trainer.
struct DuplexEarTtsOptions {
  TtsOptions tts_config;
  Config codec;
  TextEmbeddingOptions text_embedding;
  PromptOptions prompt;
  TokenIdOptions tokens;
  std::vector<std::string> pieces;
  GenerationOptions generation;
  bool inference_force_speech_silence_on_eos = true;
  std::optional<std::string> inference_speaker_reference;
  TextChannelOptions text_channel;
  bool exclude_norm_from_wd = false;
  void visit(OptionVisitor& v);
};

class TextEmbedding : public Block {
 public:
  TextEmbedding(int64_t count, int64_t dim, std::string path);
  ~TextEmbedding() override;
  /// ids [B, T] -> [B, T, U].
  at::Tensor operator()(const at::Tensor& ids_BT) const;

 protected:
  void reset_buffers() override;
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  int64_t count_, dim_;
  std::string path_;
  at::Tensor weight_;
};

struct DuplexEarTtsParts {
  std::unique_ptr<Codec> codec;
  std::unique_ptr<TtsCore> core;
  std::unique_ptr<TextEmbedding> text_embedding;  // null: no context
  SpecialIds ids;
  const Tokenizer* tokenizer = nullptr;  // may be null with explicit ids
  std::string voice_path;                // of inference_speaker_reference; empty: none
};

class DuplexEarTts : public Model, public SpeaksText, public RunsReferences {
 public:
  DuplexEarTts(DuplexEarTtsOptions options, DuplexEarTtsParts parts, const Sampling& sampling);
  ~DuplexEarTts() override;

  BatchWeight weigh(const Batch& batch) override;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  MetricSums evaluate(const Batch& batch) override;
  std::vector<std::string> metric_names() const override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  NameMap checkpoint_names() const override;
  std::vector<StagePart> stages() override {
    return stages_around(*this, "tts_model.backbone", {"tts_model.mog_head", "tts_model.lm_head"});
  }
  Codec& codec() override { return *parts_.codec; }
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  std::vector<std::string> decoded_outputs() const override { return {"tokens_audio", "audio"}; }

  std::unique_ptr<SpokenChannel> open_speech(const at::Tensor& voices_BS,
                                             const at::Tensor& lengths_B) override;
  std::pair<at::Tensor, at::Tensor> voices_of(const Batch& batch) override;
  at::Tensor channel_of(const std::string& text) const override;
  const Tokenizer& tokenizer() const override;

 protected:
  void reset_buffers() override;

 private:
  class Speech;
  /// Sets the codec's books in the speech model, unless a checkpoint did.
  void bind_codec();
  PromptedBatch prompted(const Batch& batch, int64_t step) const;
  TtsInputs inputs_of_batch(const Batch& batch, int64_t step);
  void add_context(TtsInputs& inputs) const;

  DuplexEarTtsOptions options_;
  DuplexEarTtsParts parts_;
  Sampling sampling_;
  BatchMaker maker_;
  at::Tensor silence_K_;  // codec_silence_tokens; -1: unknown
  bool is_bound_ = false;
};

Config translate_duplex_eartts(const Config& foreign);
/// NeMo's DuplexEARTTS.
std::vector<ForeignClass> foreign_classes();
std::unique_ptr<Model> create_duplex_eartts(const Config& model, const ModelContext& context);

}  // namespace s2s::eartts
