// Moshi's outputs for reference files.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "moshi_model.h"

namespace s2s::two_level {
namespace {

MoshiStreams streams_from(const std::map<std::string, at::Tensor>& inputs) {
  MoshiStreams streams;
  streams.text_BT = inputs.at("ids").to(at::kLong);
  streams.own_BKT = inputs.at("moshi_codes").to(at::kLong);
  streams.user_BKT = inputs.at("user_codes").to(at::kLong);
  const auto lengths = inputs.find("lengths");
  streams.lengths_B =
      lengths != inputs.end()
          ? lengths->second.to(at::kLong)
          : at::full({streams.text_BT.size(0)}, streams.text_BT.size(1), streams.text_BT.options());
  return streams;
}

}  // namespace

std::vector<std::string> MoshiModel::decoded_outputs() const {
  return {"next_text", "next_codes", "tokens_text", "tokens_audio"};
}

std::map<std::string, at::Tensor> MoshiModel::decoded(
    const std::map<std::string, at::Tensor>& inputs) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> outputs;
  if (inputs.count("ids") != 0) {
    // Predicts the frame after the streams, which are embedded unchanged.
    TokenChoice greedy(SamplingOptions(), {parts_.pad});
    const at::Tensor hidden_BTH = decoder_(embed(streams_from(inputs)), SequenceInfo{});
    const at::Tensor state_BH = hidden_BTH.select(1, hidden_BTH.size(1) - 1);
    const at::Tensor text_B = greedy.text(head_logits(state_BH, lm_head_.head()));
    outputs["next_text"] = text_B;
    outputs["next_codes"] = depth_codes(state_BH, text_B, greedy, {});
  }
  if (inputs.count("prompt_ids") != 0) {
    const Prompt prompt{inputs.at("prompt_ids").to(at::kLong),
                        inputs.at("prompt_moshi_codes").to(at::kLong)};
    const Spoken spoken = speak(inputs.at("prompt_user_codes").to(at::kLong), prompt);
    const int64_t count = spoken.text_BT.size(1) - prompt.frames();
    outputs["tokens_text"] = spoken.text_BT.narrow(1, prompt.frames(), count);
    // The source stops before it has the later books of the last frame.
    outputs["tokens_audio"] =
        spoken.codes_BKT.narrow(2, prompt.frames(), count - 1).transpose(1, 2);
  }
  return outputs;
}

std::map<std::string, at::Tensor> MoshiModel::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  if (!training) {
    train(false);
    return decoded(inputs);
  }
  train(true);
  const MoshiStreams streams = streams_from(inputs);
  MoshiStep step = prepare(streams);
  if (!options_.as_transformers()) {
    const double frames = streams.lengths_B.sum().item<double>();
    step.text_divisor = frames;
    step.depth_divisor = frames * static_cast<double>(options_.num_codebooks);
  }
  const at::Tensor hidden_BTH = states(step);
  const at::Tensor states_NKC = depth_states(step, hidden_BTH);
  const LossTerms terms = losses(step, hidden_BTH, states_NKC);
  const at::NoGradGuard no_grad;
  return {{"hidden", hidden_BTH},
          {"logits", head_logits(hidden_BTH, lm_head_.head())},
          {"depth_logits", book_logits(states_NKC, depth_.lm_heads.heads())},
          {"text_loss", terms.parts.at("text_loss")},
          {"depth_loss", terms.parts.at("depth_loss")},
          {"loss", terms.total}};
}

}  // namespace s2s::two_level
