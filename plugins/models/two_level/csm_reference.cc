// CSM's outputs for reference files.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "csm_model.h"

namespace s2s::two_level {

std::vector<std::string> CsmModel::decoded_outputs() const {
  return {"next_codes", "tokens_audio"};
}

std::map<std::string, at::Tensor> CsmModel::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  std::map<std::string, at::Tensor> outputs;
  train(training);
  if (!training) {
    if (inputs.count("frames") != 0) {
      outputs["next_codes"] = continue_rows(inputs, "", 1).squeeze(1);
    }
    if (inputs.count("prompt_frames") != 0) {
      const int64_t count = inputs.at("prompt_new").item<int64_t>();
      outputs["tokens_audio"] = continue_rows(inputs, "prompt_", count);
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
