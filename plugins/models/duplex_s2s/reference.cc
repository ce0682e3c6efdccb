// What a reference file asks of the model, and which names its checkpoints use.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "duplex_model.h"
#include "training_step.h"

namespace s2s::duplex {
namespace {

Batch batch_of(const std::map<std::string, at::Tensor>& inputs) {
  Batch batch;
  batch.source_audio_BS = inputs.at("source_audio");
  batch.source_audio_lens_B = inputs.at("source_audio_lens").to(at::kLong);
  batch.target_tokens_BT = inputs.at("target_tokens").to(at::kLong);
  batch.codes_BKT = inputs.at("codes").to(at::kLong);
  batch.code_lens_B = inputs.at("code_lens").to(at::kLong);
  return batch;
}

}  // namespace

std::map<std::string, at::Tensor> DuplexModel::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  const Batch batch = batch_of(inputs);
  if (!training) {
    const Generation greedy = generate(batch.source_audio_BS, batch.source_audio_lens_B, false);
    return {{"tokens_text", greedy.tokens_text_BT}, {"tokens_audio", greedy.tokens_audio_BTK}};
  }
  train(true);
  rest_frozen_parts();
  TrainingStep step(*this);
  // The file holds the perception's whole width; the training step cuts it to the common one.
  const EncoderOutput heard = perception_.forward(batch.source_audio_BS, batch.source_audio_lens_B);
  const PreparedBatch prepared = step.prepare(batch, heard);
  const StageWeights weights = stage_weights(options_, 0);
  const LossTerms losses = step.losses(prepared, weights, static_cast<double>(weigh(batch).frames));
  const TrainingStep::States heads = step.states(prepared, false);
  const int64_t rows = heads.audio_BTH.size(0), width = heads.audio_BTH.size(1);
  return {
      {"mel", heard.mel_BFT},
      {"perception", heard.features_BTH},
      {"text_logits", parts_.llm->logits(heads.text_BTH, false)},
      {"audio_logits", audio_head_(heads.audio_BTH).view({rows, width, parts_.num_codebooks, -1})},
      {"text_loss", losses.parts.at("text_loss")},
      {"audio_loss", losses.parts.at("audio_loss")},
      {"loss", losses.total}};
}

NameMap DuplexModel::checkpoint_names() const {
  // Our names are NeMo's, but for what the parts themselves call differently.
  NameMap names;
  names.rules.push_back({"**", "**"});
  names.ignored = {"_control_codes", "perception.preprocessor.featurizer.**", "audio_codec.**"};
  if (parts_.llm->shape().tied_head) names.ignored.push_back("lm_head.weight");
  return names;
}

ShardPlan DuplexModel::configure_model(const MeshShape& mesh) const {
  ShardPlan plan;
  // The backbone's own plan, with the embedding and the head at this model's level.
  const ShardPlan backbone = parts_.llm->configure_model(mesh);
  for (const TensorRow& row : backbone.rows) {
    const bool beside = row.module == "embed_tokens" || row.module == "lm_head";
    plan.rows.push_back(row);
    if (!beside) plan.rows.back().module = "llm." + row.module;
  }
  for (const UnitRow& unit : backbone.units) plan.units.push_back({"llm." + unit.module});
  plan.divisors = backbone.divisors;
  plan.append(perception_.configure_model(mesh).nested_under("perception"));
  plan.rows.push_back({"embed_audio_tokens.*", Style::kReplicate, Layout::kFull, Layout::kFull});
  plan.rows.push_back({"audio_head", Style::kColwise, Layout::kFull, Layout::kLast});
  plan.units.push_back({"embed_tokens"});
  plan.units.push_back({"embed_audio_tokens.*"});
  if (!parts_.llm->shape().tied_head) plan.units.push_back({"lm_head"});
  plan.units.push_back({"audio_head"});
  if (embed_held_text_) {
    plan.rows.push_back({"embed_held_text", Style::kReplicate, Layout::kFull, Layout::kFull});
    plan.units.push_back({"embed_held_text"});
  }
  if (user_text_) {
    plan.rows.push_back({"user_text.head", Style::kReplicate, Layout::kFull, Layout::kFull});
    if (user_text_->copy() != nullptr) {
      plan.rows.push_back({"user_text.copy", Style::kReplicate, Layout::kFull, Layout::kFull});
    }
    plan.units.push_back({"user_text"});
  }
  return plan;
}

}  // namespace s2s::duplex
