// Outputs for reference files, checkpoint names, and the sharding plan.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "duplex_model.h"
#include "training_step.h"

namespace s2s::duplex_s2s {
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
  rest_frozen({&perception_.encoder(), parts_.llm.get(), parts_.speech_decoder.get()});
  TrainingStep step(*this);
  // The file contains all frames of the perception; the training step truncates them.
  const EncoderOutput heard = perception_.forward(batch.source_audio_BS, batch.source_audio_lens_B);
  const PreparedBatch prepared = step.prepare(batch, heard);
  const StageWeights weights = stage_weights(options_, 0);
  const LossTerms losses = step.losses(prepared, weights, static_cast<double>(weigh(batch).frames));
  const TrainingStep::States heads = step.states(prepared, false);
  const int64_t rows = heads.audio_BTH.size(0), width = heads.audio_BTH.size(1);
  return {{"mel", heard.mel_BFT},
          {"perception", heard.features_BTH},
          {"input_embeds", step.input_embeds(prepared)},
          {"text_labels", prepared.channels.text_labels_BT},
          {"audio_labels", prepared.channels.audio_labels_BTK},
          {"text_logits", parts_.llm->logits(heads.text_BTH, false)},
          {"audio_logits", head_logits(heads.audio_BTH, audio_head(), parts_.num_codebooks)
                               .view({rows, width, parts_.num_codebooks, -1})},
          {"text_loss", losses.parts.at("text_loss")},
          {"audio_loss", losses.parts.at("audio_loss")},
          {"loss", losses.total}};
}

NameMap DuplexModel::checkpoint_names() const {
  // Names equal NeMo's, except inside the parts.
  NameMap names;
  names.rules = perception_.checkpoint_rules("perception");
  names.rules.push_back({"**", "**"});
  names.ignored = {"_control_codes", "perception.preprocessor.featurizer.**", "audio_codec.**"};
  if (parts_.speech_decoder) {  // NeMo's class has unused parts of the other class
    names.ignored.insert(names.ignored.end(),
                         {"embed_audio_tokens.**", "audio_head.**",
                          "speech_generation.t5_decoder.layers.*.self_attention.causal_mask"});
  }
  if (parts_.llm->shape().tied_head) names.ignored.push_back("lm_head.weight");
  return names;
}

ShardPlan DuplexModel::configure_model(const MeshShape& mesh) const {
  ShardPlan plan;  // units in execution order
  std::vector<UnitRow> inputs;
  const auto add_whole = [&](const char* module, const char* unit) {
    plan.rows.push_back({module, Style::kReplicate, Layout::kFull, Layout::kFull});
    inputs.push_back({unit});
  };
  plan.append(perception_.configure_model(mesh).nested_under("perception"));
  if (user_text_) add_whole("user_text.head", "user_text");
  if (flat_head_) add_whole("embed_audio_tokens.*", "embed_audio_tokens.*");
  if (embed_held_text_) add_whole("embed_held_text", "embed_held_text");
  if (user_text_ && user_text_->copy() != nullptr) {
    plan.rows.push_back({"user_text.copy", Style::kReplicate, Layout::kFull, Layout::kFull});
  }
  const auto first = static_cast<std::ptrdiff_t>(plan.units.size());
  // The embedding and the head are registered at this model's level.
  plan.append(parts_.llm->configure_model(mesh).nested_under("llm", {"embed_tokens", "lm_head"}));
  auto position = plan.units.begin() + first;  // after the text embedding, if it is a unit
  if (position != plan.units.end() && position->module == "embed_tokens") ++position;
  plan.units.insert(position, inputs.begin(), inputs.end());
  if (parts_.speech_decoder) {
    plan.append(parts_.speech_decoder->configure_model().nested_under("speech_generation"));
    return plan;
  }
  plan.rows.push_back({"audio_head", Style::kVocab, Layout::kFull, Layout::kLast});
  plan.heads.push_back({"audio_head", parts_.num_codebooks});
  plan.units.push_back({"audio_head"});
  return plan;
}

}  // namespace s2s::duplex_s2s
