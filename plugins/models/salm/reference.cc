// Outputs for reference files, checkpoint names, and the sharding plan.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/nn/layers.h"
#include "salm_model.h"

namespace s2s::salm {
namespace {

constexpr int64_t kDefaultNewTokens = 20;  // transformers' max_length without a prompt

using Inputs = std::map<std::string, at::Tensor>;

Batch batch_of(const Inputs& inputs) {
  Batch batch;
  for (const char* name : {"audios", "audio_lens", "input_ids", "loss_mask"}) {
    batch.others[name] = inputs.at(name);
  }
  const auto texts = inputs.find("transcripts");
  if (texts != inputs.end()) batch.others["transcripts"] = texts->second;
  return batch;
}

/// `first` if the file has it, else `second`.
const at::Tensor& either(const Inputs& inputs, const char* first, const char* second) {
  const auto found = inputs.find(first);
  return found == inputs.end() ? inputs.at(second) : found->second;
}

int64_t number(const Inputs& inputs, const char* name, int64_t absent) {
  const auto found = inputs.find(name);
  return found == inputs.end() ? absent : found->second.item<int64_t>();
}

/// Rows as one tensor [B, N], padded with PAD.
at::Tensor rows_of(const std::vector<std::vector<int64_t>>& answers, int64_t pad) {
  size_t width = 0;
  for (const std::vector<int64_t>& tokens : answers) width = std::max(width, tokens.size());
  const at::Tensor out =
      at::full({static_cast<int64_t>(answers.size()), static_cast<int64_t>(width)}, pad,
               at::TensorOptions(at::kLong));
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::vector<int64_t>& tokens = answers[i];
    out[static_cast<int64_t>(i)]
        .narrow(0, 0, static_cast<int64_t>(tokens.size()))
        .copy_(at::tensor(tokens, at::kLong));
  }
  return out;
}

/// The rows of a batch as prompts.
std::vector<TextPrompt> prompts_in(const Inputs& inputs, const RowIds& ids) {
  return split_prompts(
      {either(inputs, "prompt_audios", "audios"), either(inputs, "prompt_audio_lens", "audio_lens"),
       either(inputs, "prompts", "input_ids"), at::Tensor()},
      ids);
}

}  // namespace

at::Tensor SalmModel::generated(const Inputs& inputs, int64_t num_beams) {
  TextDecoding decoding;
  decoding.max_new_tokens = number(inputs, "max_new_tokens", kDefaultNewTokens);
  decoding.num_beams = num_beams;
  decoding.end_tokens = end_tokens({});
  const auto texts = inputs.find("prompt_transcripts");
  const auto prompts = embedded(prompts_in(inputs, parts_.ids),
                                texts == inputs.end() ? at::Tensor() : texts->second);
  return rows_of(decode_text(*parts_.llm, prompts, decoding), parts_.ids.pad);
}

std::vector<std::string> SalmModel::decoded_outputs() const {
  return {"tokens", "tokens_beam", "val_loss", "val_acc"};
}

Inputs SalmModel::reference_outputs(const Inputs& inputs, bool training) {
  if (!training) {
    const std::map<std::string, double> judged = metrics_of(evaluate(batch_of(inputs)));
    return {{"tokens", generated(inputs, 1)},
            {"tokens_beam", generated(inputs, number(inputs, "num_beams", 2))},
            {"val_loss", at::scalar_tensor(judged.at("loss"))},
            {"val_acc", at::scalar_tensor(judged.at("acc"))}};
  }
  train(true);
  rest_frozen({&perception_.encoder(), parts_.llm.get()});
  SalmBatch batch{inputs.at("audios"), inputs.at("audio_lens"), inputs.at("input_ids"),
                  inputs.at("loss_mask")};
  if (const auto texts = inputs.find("transcripts"); texts != inputs.end()) {
    batch.transcripts_AW = texts->second;
  }
  const Prepared prepared = prepare(batch, true);
  const at::Tensor hidden_BLH = (*parts_.llm)(prepared.embeds_BLH, SequenceInfo{});
  const at::Tensor loss =
      loss_sum(labeled(prepared, hidden_BLH)) / static_cast<double>(prepared.rows.num_labels);
  // NeMo pads on the left.
  const at::NoGradGuard no_grad;
  const std::vector<int64_t>& lengths = prepared.rows.lengths;
  const at::Tensor logits_BLV = parts_.llm->logits(hidden_BLH);
  const at::Tensor targets_BL = left_padded(prepared.rows.labels_BL + 100, lengths) - 100;
  std::map<std::string, at::Tensor> outputs = {
      {"loss", loss},
      {"input_embeds", left_padded(prepared.embeds_BLH, lengths)},
      {"attention_mask", left_padded(at::ones_like(prepared.rows.labels_BL, at::kBool), lengths)},
      {"target_ids", targets_BL},
      {"labels", targets_BL},
      {"logits", left_padded(logits_BLV, lengths)}};
  if (parts_.asr_decoder) outputs["asr_tokens"] = rows_of(prepared.asr_labels, -1);
  return outputs;
}

/// With an ASR decoder, the encoder belongs to NeMo's ASR model.
void SalmModel::add_perception_names(NameMap& names) const {
  std::vector<NameRule> heard = perception_.checkpoint_rules("perception");
  if (parts_.asr_decoder) {
    for (const char* part : {"encoder", "preprocessor"}) {
      const std::string path = std::string("perception.") + part + ".**";
      heard.push_back({path, path});
    }
    const std::string begin = "perception.";
    for (NameRule& rule : heard) {
      const std::string rest = rule.theirs.substr(begin.size());
      if (rest.starts_with("encoder") || rest.starts_with("preprocessor")) {
        rule.theirs = begin + "asr." + rest;
      }
    }
    const NameMap decoder = TransducerDecoder::names("asr_decoder.", "perception.asr.",
                                                     options_.asr_decoder.pred_rnn_layers);
    heard.insert(heard.end(), decoder.rules.begin(), decoder.rules.end());
    names.other_spellings = decoder.other_spellings;
  }
  names.rules.insert(names.rules.end(), heard.begin(), heard.end());
}

NameMap SalmModel::checkpoint_names() const {
  // Names equal NeMo's, except in the language model: transformers' there, PEFT's at adapters.
  NameMap names;
  bool has_adapters = false;
  parts_.llm->for_each_block([&](const std::string& path, Block& block) {
    const auto* const linear = dynamic_cast<const Linear*>(&block);
    if (linear == nullptr || !linear->has_lora()) return;
    has_adapters = true;
    const std::string ours = "llm." + path, theirs = "llm.base_model.model.model." + path;
    for (const char* tensor : {".weight", ".bias"}) {
      names.rules.push_back({ours + tensor, theirs + ".base_layer" + tensor});
    }
    for (const char* part : {".lora_A", ".lora_B"}) {
      names.rules.push_back({ours + part + ".weight", theirs + part + ".default.weight"});
    }
  });
  const std::string peft = has_adapters ? "base_model.model." : "";
  names.rules.push_back({"llm.lm_head.weight", "llm." + peft + "lm_head.weight"});
  names.rules.push_back({"llm.**", "llm." + peft + "model.**"});
  add_perception_names(names);
  names.rules.push_back({"**", "**"});
  names.ignored = {"perception.preprocessor.featurizer.**",
                   "perception.asr.preprocessor.featurizer.**"};
  if (parts_.llm->shape().tied_head) {
    names.ignored.push_back("llm." + peft + "lm_head.weight");
  }
  return names;
}

ShardPlan SalmModel::configure_model(const MeshShape& mesh) const {
  ShardPlan plan = perception_.configure_model(mesh).nested_under("perception");
  // The embedding is registered at this model's level.
  plan.append(parts_.llm->configure_model(mesh).nested_under("llm", {"embed_tokens"}));
  return plan;
}

}  // namespace s2s::salm
