#include <algorithm>

#include "s2s/model_flops.h"
#include "s2s/nn/rows.h"
#include "salm_model.h"

namespace s2s::salm {

/// The decoder counts at every position including padding, the head at labels, and the layers
/// between encoder and decoder at every audio frame.
void SalmModel::add_flops(const SalmBatch& batch, const MixedRows& rows, BatchWeight& weight) {
  const BackboneShape& shape = parts_.llm->shape();
  const std::string head = shape.tied_head ? "embed_tokens." : "llm.lm_head.";
  ProductWeights of_head, of_decoder, of_audio;
  count_products(*this, &perception_.encoder(), [&](const std::string& name) -> ProductWeights* {
    if (name.starts_with(head)) return &of_head;
    if (name.starts_with("perception.")) return &of_audio;
    return name.starts_with("embed_tokens.") ? nullptr : &of_decoder;
  });
  int64_t num_frames = 0, num_chunks = 0, longest = 0;
  for (const std::vector<int64_t>& chunks : split_lengths(to_vector(batch.audio_lens_A), chunks_)) {
    num_chunks += static_cast<int64_t>(chunks.size());
    for (const int64_t length : chunks) {
      num_frames += perception_.output_frames(length);
      longest = std::max(longest, length);
    }
  }
  const auto positions = static_cast<double>(rows.source_BL.numel());
  weight.model_flops = of_decoder.flops(positions) +
                       of_head.flops(static_cast<double>(rows.num_labels)) +
                       of_audio.flops(static_cast<double>(num_frames)) +
                       attention_flops(shape, positions * static_cast<double>(rows.width()));
  if (num_chunks > 0) {
    weight.encoder_flops = encoder_flops(perception_.encoder(), num_chunks, longest);
  }
}

}  // namespace s2s::salm
