// Outputs for reference files, checkpoint names, the sharding plan, and random batches.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "decoding.h"
#include "training_step.h"

namespace s2s::duplex_stt {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

at::Tensor ids_at(const Tensors& inputs, const std::string& name) {
  const auto found = inputs.find(name);
  return found == inputs.end() ? at::Tensor() : found->second.to(at::kLong);
}

Batch batch_of(const Tensors& inputs, int64_t pad) {
  Batch batch;
  if (inputs.contains("source_audio")) {
    batch.source_audio_BS = inputs.at("source_audio");
    batch.source_audio_lens_B = ids_at(inputs, "source_audio_lens");
  }
  batch.target_tokens_BT = ids_at(inputs, "target_tokens");
  batch.target_token_lens_B = ids_at(inputs, "target_token_lens");
  batch.source_tokens_BT = ids_at(inputs, "source_tokens");
  batch.source_token_lens_B = ids_at(inputs, "source_token_lens");
  for (const char* name : {"prompt_tokens", "prompt_token_lens", "task_is_asr"}) {
    if (inputs.contains(name)) batch.others[name] = ids_at(inputs, name);
  }
  batch.text_BT = ids_at(inputs, "text_tokens");
  if (batch.text_BT.defined()) {
    // NeMo ignores labels that are PAD.
    batch.text_labels_BT = at::where(batch.text_BT.eq(pad), -100, batch.text_BT);
  }
  return batch;
}

/// Share of the agent's labels, without PAD, that are predicted correctly. NeMo's masked logits are
/// all 0, so it predicts id 0 there.
at::Tensor token_accuracy(const at::Tensor& logits_BTV, const PreparedBatch& prepared,
                          bool is_masked, int64_t pad) {
  at::Tensor predicted_BT = logits_BTV.argmax(-1);
  if (is_masked) predicted_BT = at::where(prepared.mask_BT, predicted_BT, 0);
  const at::Tensor counts_BT = prepared.agent_labels().ne(pad);
  const at::Tensor right_BT = predicted_BT.eq(prepared.agent_labels()).logical_and(counts_BT);
  return right_BT.sum().to(at::kFloat) / counts_BT.sum().clamp_min(1);
}

}  // namespace

std::vector<std::string> SttModel::decoded_outputs() const {
  return {"tokens_text", "tokens_text_src", "tokens_len"};
}

std::map<std::string, at::Tensor> SttModel::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  const Batch batch = batch_of(inputs, parts_.ids.pad);
  if (!training) {
    const DecodedTokens greedy =
        decode(*this, batch.source_audio_BS, batch.source_audio_lens_B, prompts_of(batch));
    Tensors outputs{{"tokens_text", greedy.agent_BT}, {"tokens_len", greedy.lens_B}};
    if (greedy.user_BT.defined()) outputs["tokens_text_src"] = greedy.user_BT;
    return outputs;
  }
  train(true);
  rest_frozen({&perception_.encoder(), parts_.llm.get()});
  TrainingStep step(*this);
  Tensors outputs;
  LossSums sums;
  double frames = 1;
  if (batch.source_audio_BS.defined()) {
    const PreparedBatch prepared = step.prepare(batch);
    const at::Tensor hidden_BTH = step.hidden(prepared);
    sums = step.channel_losses(prepared, hidden_BTH);
    frames = std::max(prepared.input_lens_B.sum().item<double>(), 1.0);
    const at::Tensor logits_BTV = parts_.llm->logits(hidden_BTH, false);
    outputs = {{"mel", prepared.heard.mel_BFT},
               {"perception", prepared.heard.features_BTH},
               {"input_embeds", step.input_embeds(prepared)},
               {"text_labels", prepared.agent_labels()},
               {"loss_scale", prepared.agent_weights_BT.unsqueeze(-1)},
               {"seq_mask", prepared.mask_BT.unsqueeze(-1)},
               {"text_logits", logits_BTV},
               {"token_accuracy",
                token_accuracy(logits_BTV, prepared, options_.mask_sequence_loss, parts_.ids.pad)}};
    if (user_) {
      outputs["asr_labels"] = prepared.user_labels();
      outputs["asr_loss_scale"] = prepared.user_weights_BT.unsqueeze(-1);
      outputs["asr_logits"] = head_logits(hidden_BTH, user_->head.head());
    }
  }
  if (batch.text_BT.defined()) sums.text = step.text_loss(batch);
  const LossTerms losses = step.terms(sums, frames, 1);
  for (const auto& [name, loss] : losses.parts) outputs[name] = loss;
  outputs["loss"] = losses.total;
  return outputs;
}

NameMap SttModel::checkpoint_names() const {
  // Our names equal NeMo's, except inside the parts.
  NameMap names;
  names.rules.push_back({"**", "**"});
  names.ignored = {"perception.preprocessor.featurizer.**"};
  if (parts_.llm->shape().tied_head) names.ignored.push_back("lm_head.weight");
  return names;
}

ShardPlan SttModel::configure_model(const MeshShape& mesh) const {
  ShardPlan plan = perception_.configure_model(mesh).nested_under("perception");
  // The embedding and the head are registered at this model's level.
  const ShardPlan llm =
      parts_.llm->configure_model(mesh).nested_under("llm", {"embed_tokens", "lm_head"});
  const auto first = static_cast<std::ptrdiff_t>(plan.units.size());
  plan.append(llm);
  if (!user_) return plan;
  plan.rows.push_back({"embed_asr_tokens", Style::kVocab, Layout::kFull, Layout::kFull});
  plan.rows.push_back({"asr_head", Style::kVocab, Layout::kFull, Layout::kLast});
  plan.heads.push_back({"asr_head"});
  auto after = plan.units.begin() + first;  // units are in execution order
  if (after != plan.units.end() && after->module == "embed_tokens") ++after;
  plan.units.insert(after, {"embed_asr_tokens"});
  plan.units.push_back({"asr_head"});
  return plan;
}

Batch SttModel::probe_batch(const ProbeBatch& shape) {
  Batch batch;
  const auto samples = std::max<int64_t>(
      1, std::llround(shape.duration_s * static_cast<double>(source_sample_rate_hz())));
  const auto frames =
      std::max<int64_t>(4, static_cast<int64_t>(std::ceil(shape.duration_s / frame_length_s())));
  const int64_t room = frames - 3;
  batch.source_audio_BS = at::randn({shape.rows, samples}) * 0.1;
  batch.source_audio_lens_B = at::full({shape.rows}, samples, at::kLong);
  // One turn spans nearly the whole row, so that every frame counts.
  at::Tensor tokens = at::full({shape.rows, frames}, parts_.ids.pad, at::kLong);
  tokens.select(1, 1).fill_(parts_.ids.bos);
  tokens.narrow(1, 2, shape.tokens > 0 ? std::min(shape.tokens, room) : room)
      .random_(0, parts_.llm->shape().vocab_size);
  tokens.select(1, frames - 1).fill_(parts_.ids.eos);
  batch.target_tokens_BT = tokens;
  batch.target_token_lens_B = at::full({shape.rows}, frames, at::kLong);
  batch.source_tokens_BT = tokens.clone();
  batch.source_token_lens_B = batch.target_token_lens_B.clone();
  batch.ids.assign(static_cast<size_t>(shape.rows), "random");
  return batch;
}

}  // namespace s2s::duplex_stt
