#pragma once
// SalmModel: a language model with audio input. The frames of each audio replace a tag in a prompt,
// and the model predicts the text of the answer. Results follow NeMo's SALM. Shape letters: B rows,
// A audios, S samples, T ids, L positions, H hidden, V vocabulary.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "audio_chunks.h"
#include "mixed_rows.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/perception.h"
#include "s2s/nn/text_decoding.h"
#include "salm_options.h"

namespace s2s::salm {

struct SalmParts {
  std::unique_ptr<Backbone> llm;
  std::unique_ptr<Encoder> encoder;
  std::unique_ptr<TransducerDecoder> asr_decoder;  // null: none
  const Tokenizer* tokenizer = nullptr;            // may be null with explicit ids
  int64_t eos = -1;
  RowIds ids;
};

/// A batch with NeMo's names (Batch::others): audios [A, S], audio_lens [A], input_ids [B, T] and
/// loss_mask [B, T]; ids are left padded. Reference files may have transcripts.
struct SalmBatch {
  at::Tensor audios_AS, audio_lens_A, input_ids_BT, loss_mask_BT;
  /// Ids of each audio's text [A, W], padded with -1; undefined: the ASR decoder's output.
  at::Tensor transcripts_AW = {};
};

/// input_ids to embed. Those of tags are not used.
at::Tensor text_ids(const SalmBatch& batch, const RowIds& ids);
/// The rows of input_ids with their audios. A row of only PAD becomes one PAD.
std::vector<TextPrompt> split_prompts(const SalmBatch& batch, const RowIds& ids);

class SalmModel : public Model,
                  public HasLanguageModel,
                  public RunsReferences,
                  public TextGenerator,
                  public MakesProbeBatches {
 public:
  SalmModel(SalmOptions options, SalmParts parts);
  ~SalmModel() override;

  BatchWeight weigh(const Batch& batch) override;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  MetricSums evaluate(const Batch& batch) override;
  std::vector<std::string> metric_names() const override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  std::vector<StagePart> stages() override { return stages_around(*this, "llm"); }
  NameMap checkpoint_names() const override;

  Backbone& language_model() override { return *parts_.llm; }

  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  std::vector<std::string> decoded_outputs() const override;

  std::vector<TextAnswer> continue_prompts(const std::vector<TextPrompt>& prompts,
                                           const TextGenerationOptions& options,
                                           const SamplingOptions& sampling) override;
  std::vector<TextPrompt> prompts_of(const Batch& batch) override;
  const Tokenizer& tokenizer() const override;
  int64_t source_sample_rate_hz() const override;

  Batch probe_batch(const ProbeBatch& shape) override;

 private:
  /// Inputs of the language model, with labels.
  struct Prepared {
    at::Tensor embeds_BLH;
    MixedRows rows;
    std::vector<std::vector<int64_t>> asr_labels;  // of each audio, with an ASR decoder
  };
  Prepared prepare(const SalmBatch& batch, bool for_training);
  /// With an ASR decoder: the ids of each audio's text follow its frames.
  Prepared prepare_with_text(const SalmBatch& batch, bool for_training);
  Prepared mixed(const SalmBatch& batch, MixedRows rows, const at::Tensor& text_NH,
                 const at::Tensor& frames_TH) const;
  /// The ids of ">> text <<" for each audio.
  std::vector<std::vector<int64_t>> transcripts(const SalmBatch& batch,
                                                const std::vector<std::vector<int64_t>>& labels);
  /// The positions with labels: hidden states [N, H] and labels [N, 1].
  struct Labeled {
    at::Tensor hidden_NH, labels_N1;
  };
  Labeled labeled(const Prepared& prepared, const at::Tensor& hidden_BLH) const;
  at::Tensor loss_sum(const Labeled& labeled);
  /// The frames of all audios [T, H]. Runs the perception even without audio, because the ranks of
  /// a sharded model run it together.
  at::Tensor frames(const SalmBatch& batch, const std::vector<int64_t>& audio_lens);
  void add_flops(const SalmBatch& batch, const MixedRows& rows, BatchWeight& weight);
  /// Prompts as input of the language model. transcripts_AW: as in SalmBatch. Errors:
  /// [salm/audio-count].
  std::vector<PromptEmbeddings> embedded(const std::vector<TextPrompt>& prompts,
                                         const at::Tensor& transcripts_AW = {});
  std::vector<int64_t> end_tokens(const TextGenerationOptions& options) const;
  /// The head, with the family's soft cap.
  HeadWeight head();
  void add_perception_names(NameMap& names) const;
  at::Tensor generated(const std::map<std::string, at::Tensor>& inputs, int64_t num_beams);

  SalmOptions options_;
  SalmParts parts_;
  Perception perception_;
  ChunkSizes chunks_;
};

}  // namespace s2s::salm
