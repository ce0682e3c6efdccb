#pragma once
// EarTts: only EAR-TTS's speech model. It trains on batches of codes and conditions with NeMo's
// names (Batch::others). Shape letters: B batch, T frames, K books.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/backbone.h"
#include "s2s/kinds/model_capabilities.h"
#include "tts_core.h"

namespace s2s::eartts {

/// The `model` block without the keys of the trainer.
struct EarTtsOptions {
  TtsOptions tts;
  TokenIdOptions tokens;
  std::vector<std::string> pieces;
  GenerationOptions generation;
  void visit(OptionVisitor& v) {
    tts.visit(v);
    v("tokens", tokens, "special token ids");
    v("pieces", pieces, "the text of each token id; empty: from the tokenizer");
    v("generation", generation, "how codes are generated");
  }
};

/// The pieces of the options, else of the tokenizer. Errors: [eartts/tokenizer] if the subword
/// encoder needs pieces and there are none.
Vocabulary vocabulary_of(const std::vector<std::string>& pieces, const TokenIdOptions& tokens,
                         const Tokenizer* tokenizer, bool is_needed);

/// Inputs of NeMo's forward, from tensors with its names. Errors: [eartts/batch].
TtsInputs inputs_of(const TensorMap& tensors);
/// The recorded draws of a reference file. Draws those that it lacks.
Draws draws_of(const TensorMap& tensors, const TtsOptions& options, const TtsInputs& inputs);
/// The ids of a batch's rows, or their numbers.
std::vector<std::string> row_ids(const Batch& batch, int64_t rows);
/// The losses with NeMo's names.
LossTerms terms_of(const TtsLosses& losses, int64_t micro_batches);
/// Losses of a batch in eval mode, as sums over its speech frames.
MetricSums sums_of(TtsCore& core, const TtsInputs& inputs, const std::vector<std::string>& ids);
/// The losses and hidden states of a training step, for reference files.
TensorMap reference_of(const TtsLosses& losses, const at::Tensor& valid_BT1);
/// Counts of a batch.
BatchWeight weight_of(const TtsOptions& options, const at::Tensor& audio_mask_BT);

class EarTts : public Model, public RunsReferences {
 public:
  EarTts(EarTtsOptions options, std::unique_ptr<TtsCore> core, const Sampling& sampling);
  ~EarTts() override;

  BatchWeight weigh(const Batch& batch) override;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  MetricSums evaluate(const Batch& batch) override;
  std::vector<std::string> metric_names() const override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  NameMap checkpoint_names() const override;
  std::vector<StagePart> stages() override {
    return stages_around(*this, "backbone", {"mog_head"});
  }
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  std::vector<std::string> decoded_outputs() const override {
    return {"tokens_audio", "tokens_audio_teacher"};
  }

 private:
  EarTtsOptions options_;
  std::unique_ptr<TtsCore> core_;
  Sampling sampling_;
};

/// Reads NeMo's `tts_config` and generation_config. Errors: [model/translate].
Config translate_tts(Config block);
Config translate_generation(Config generation);
/// Copies the block `tokens` of a foreign config, with its `pieces` beside it.
void read_tokens(const Config& foreign, Config& out);

/// Reads NeMo's block, or {model, tokens, generation}.
Config translate_eartts(const Config& foreign);
std::unique_ptr<Model> create_eartts(const Config& model, const ModelContext& context);

}  // namespace s2s::eartts
