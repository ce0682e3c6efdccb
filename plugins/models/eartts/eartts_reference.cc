// Outputs for reference files.

#include <ATen/ATen.h>

#include "eartts_model.h"

namespace s2s::eartts {
namespace {

/// [B, T, 1] bool: positions without padding.
at::Tensor valid_frames(const TensorMap& tensors, const TtsInputs& inputs) {
  const auto mask = tensors.find("attention_mask");
  const auto positions = tensors.find("position_ids");
  at::Tensor valid_BT = at::ones_like(inputs.audio_mask_BT);
  if (positions != tensors.end()) {
    valid_BT = positions->second.gt(0);
    valid_BT.select(1, 0).fill_(true);
  } else if (mask != tensors.end()) {
    valid_BT = mask->second.select(1, 0).diagonal(0, 1, 2).to(at::kBool);
  }
  return valid_BT.unsqueeze(-1);
}

at::Tensor column(const TensorMap& tensors, const char* name, int64_t index) {
  const auto it = tensors.find(name);
  return it == tensors.end() ? at::Tensor() : it->second.slice(1, index, index + 1);
}

/// The first `frames` columns.
TtsInputs prompt_of(const TtsInputs& inputs, int64_t frames) {
  const auto cut = [&](const at::Tensor& x) { return x.defined() ? x.slice(1, 0, frames) : x; };
  return {cut(inputs.code_BTK), cut(inputs.audio_mask_BT), cut(inputs.context_BTU),
          cut(inputs.subword_ids_BT), cut(inputs.subword_mask_BT)};
}

/// An autoregressive loop over `next_subword_ids` and `next_context`.
at::Tensor continued(TtsCore& core, const TensorMap& tensors, const TtsInputs& inputs,
                     const Sampling& sampling) {
  const bool guided = sampling.guidance > 0;
  const auto frames = tensors.find("prompt_frames");
  const int64_t length = frames->second.item<int64_t>();
  SequenceState state(core.backbone().shape().num_layers);
  core.prompt_states(prompt_of(inputs, length), guided, &state);
  TtsInputs step;
  step.code_BTK = inputs.code_BTK.slice(1, length - 1, length);
  const at::Generator noise = sampling.noise();
  std::vector<at::Tensor> codes;
  const int64_t count = tensors.at("next_subword_ids").size(1);
  for (int64_t i = 0; i < count; ++i) {
    step.subword_ids_BT = column(tensors, "next_subword_ids", i);
    step.subword_mask_BT = at::ones_like(step.subword_ids_BT, at::kBool);
    step.context_BTU = column(tensors, "next_context", i);
    step.code_BTK = core.generate(core.next_states(step, guided, state), sampling, noise);
    codes.push_back(step.code_BTK);
  }
  return at::cat(codes, 1);
}

}  // namespace

TensorMap reference_of(const TtsLosses& losses, const at::Tensor& valid_BT1) {
  return {{"hidden_states", losses.hidden_BTH * valid_BT1},
          {"lm_loss", losses.end},
          {"c_loss", losses.latent},
          {"k_loss", losses.mixture},
          {"loss", losses.total()}};
}

std::map<std::string, at::Tensor> EarTts::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  const TtsInputs batch = inputs_of(inputs);
  const at::Tensor valid_BT1 = valid_frames(inputs, batch);
  if (training) {
    train(true);
    const TtsLosses losses = core_->losses(batch, draws_of(inputs, options_.tts, batch));
    return reference_of(losses, valid_BT1);
  }
  std::map<std::string, at::Tensor> outputs;
  const at::Tensor states = core_->prompt_states(batch, sampling_.guidance > 0, nullptr);
  outputs["tokens_audio_teacher"] =
      core_->generate(states, sampling_, sampling_.noise()) * valid_BT1;
  if (inputs.contains("prompt_frames") && inputs.contains("next_subword_ids")) {
    outputs["tokens_audio"] = continued(*core_, inputs, batch, sampling_);
  }
  return outputs;
}

}  // namespace s2s::eartts
