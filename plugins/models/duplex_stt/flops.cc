#include "s2s/model_flops.h"
#include "stt_model.h"

namespace s2s::duplex_stt {

void SttModel::add_flops(int64_t rows, int64_t width, BatchWeight& weight) {
  const BackboneShape& llm = parts_.llm->shape();
  /// Without look-ups: the embedding counts only if it is also the agent's head.
  ProductWeights weights;
  count_products(*this, &perception_.encoder(), [&](const std::string& name) {
    const bool is_looked_up = name.starts_with("embed_asr_tokens.") ||
                              (name.starts_with("embed_tokens.") && !llm.tied_head);
    return is_looked_up ? nullptr : &weights;
  });
  const auto positions = static_cast<double>(rows * width);
  weight.model_flops +=
      weights.flops(positions) + attention_flops(llm, positions * static_cast<double>(width));
}

}  // namespace s2s::duplex_stt
