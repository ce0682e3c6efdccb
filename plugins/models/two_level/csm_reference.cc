// CSM's decoding and the outputs for reference files.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "csm_model.h"

namespace s2s::two_level {

at::Tensor CsmModel::next_frame(const at::Tensor& state_BH, const std::vector<HeadWeight>& heads) {
  std::vector<at::Tensor> codes = {head_logits(state_BH, lm_head_.head()).argmax(-1)};
  SequenceState state(depth_.shape().num_layers);
  SequenceInfo info;
  info.state = &state;
  at::Tensor x_BTH = state_BH.unsqueeze(1);
  for (size_t k = 0; k < heads.size(); ++k) {
    const at::Tensor code_BH = codes_(codes[k] + static_cast<int64_t>(k) * options_.vocab_size);
    const at::Tensor next_B1H = code_BH.unsqueeze(1);
    x_BTH = k == 0 ? at::cat({x_BTH, next_B1H}, 1) : next_B1H;
    const at::Tensor states_BTC = depth_(projector_(x_BTH), info);
    codes.push_back(head_logits(states_BTC.select(1, states_BTC.size(1) - 1), heads[k]).argmax(-1));
  }
  return at::stack(codes, 1);
}

at::Tensor CsmModel::continue_rows(const CsmRows& rows, int64_t count) {
  const at::NoGradGuard no_grad;
  SequenceState state(backbone_.shape().num_layers);
  SequenceInfo info;
  info.state = &state;
  at::Tensor x_BTH = embed(rows);
  std::vector<at::Tensor> frames;
  const std::vector<HeadWeight> heads = codebooks_head_.heads();  // copied once for all frames
  for (int64_t i = 0; i < count; ++i) {
    const at::Tensor hidden_BTH = backbone_(x_BTH, info);
    frames.push_back(next_frame(hidden_BTH.select(1, hidden_BTH.size(1) - 1), heads));
    x_BTH = embed_frames(frames.back().unsqueeze(1));
  }
  return at::stack(frames, 1);
}

std::vector<std::string> CsmModel::decoded_outputs() const {
  return {"next_codes", "tokens_audio"};
}

std::map<std::string, at::Tensor> CsmModel::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  std::map<std::string, at::Tensor> outputs;
  train(training);
  if (!training) {
    if (inputs.count("frames") != 0) {
      outputs["next_codes"] = continue_rows(rows_from(inputs, ""), 1).squeeze(1);
    }
    if (inputs.count("prompt_frames") != 0) {
      const int64_t count = inputs.at("prompt_new").item<int64_t>();
      outputs["tokens_audio"] = continue_rows(rows_from(inputs, "prompt_"), count);
    }
    return outputs;
  }
  const CsmRows rows = rows_from(inputs, "");
  const at::Tensor hidden_BTH = backbone_(embed(rows), SequenceInfo{});
  outputs = {{"hidden", hidden_BTH}, {"logits", head_logits(hidden_BTH, lm_head_.head())}};
  if (!rows.labels_BTK.defined()) return outputs;
  Divisors divisors = class_divisors(rows);
  if (!options_.as_transformers()) {
    divisors.later = divisors.first * static_cast<double>(options_.num_codebooks - 1);
  }
  const DepthBatch depth = depth_batch(rows, hidden_BTH);
  const at::Tensor states_NKC = depth_states(depth);
  const LossTerms terms = losses(rows, hidden_BTH, depth, states_NKC, divisors);
  outputs["loss"] = terms.total;
  outputs.insert(terms.parts.begin(), terms.parts.end());
  outputs["depth_decoder_loss"] = terms.parts.at("depth_loss");
  const at::NoGradGuard no_grad;
  outputs["depth_logits"] = book_logits(states_NKC, codebooks_head_.heads());
  return outputs;
}

}  // namespace s2s::two_level
