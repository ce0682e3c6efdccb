#pragma once
// CausalLm is a language model that is trained on text. Batches have Batch::text_BT and
// text_labels_BT, packed or padded.
// Shape letters: B rows, T columns, N tokens, H hidden, V vocabulary.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/kinds/backbone.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/options.h"

namespace s2s::causal_lm {

/// The `model` block, except for the keys that the trainer reads.
struct CausalLmOptions {
  Config llm;
  std::string loss_normalization = "global";
  std::optional<int64_t> eos;
  void visit(OptionVisitor& v) {
    v("llm", llm, "language model: its name and options, or path: a Hugging Face folder");
    v("loss_normalization", loss_normalization,
      "divide by the labels of the whole optimizer step (global) or of the micro-batch (local)",
      one_of({"global", "local"}));
    v("eos", eos, "token id that ends an answer; null: from the tokenizer", at_least(0));
  }
};

class CausalLm : public Model,
                 public HasLanguageModel,
                 public RunsReferences,
                 public TextGenerator,
                 public MakesProbeBatches {
 public:
  /// `tokenizer` may be null; then the model cannot write text.
  CausalLm(CausalLmOptions options, std::unique_ptr<Backbone> llm, const Tokenizer* tokenizer);
  ~CausalLm() override;

  BatchWeight weigh(const Batch& batch) override;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  MetricSums evaluate(const Batch& batch) override;
  std::map<std::string, double> metrics_of(const MetricSums& sums) const override;
  std::vector<std::string> metric_names() const override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  std::vector<StagePart> stages() override { return stages_around(*this, "llm"); }
  NameMap checkpoint_names() const override;

  Backbone& language_model() override { return *llm_; }
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  std::vector<std::string> decoded_outputs() const override { return {"tokens", "beams"}; }
  std::vector<TextAnswer> continue_prompts(const std::vector<TextPrompt>& prompts,
                                           const TextGenerationOptions& options,
                                           const SamplingOptions& sampling) override;
  const Tokenizer& tokenizer() const override;
  Batch probe_batch(const ProbeBatch& shape) override;

 private:
  /// Hidden states [N, H] of all columns except the last of each row, and the labels of the next
  /// tokens.
  struct Predictions {
    at::Tensor hidden_NH;
    at::Tensor labels_N;  // int64; -100: not predicted
  };
  Predictions predict(const Batch& batch);
  std::map<std::string, at::Tensor> decoded_references(
      const std::map<std::string, at::Tensor>& inputs);
  HeadWeight head();
  std::vector<int64_t> end_tokens(const TextGenerationOptions& options) const;

  CausalLmOptions options_;
  std::unique_ptr<Backbone> llm_;
  const Tokenizer* tokenizer_;
};

}  // namespace s2s::causal_lm
