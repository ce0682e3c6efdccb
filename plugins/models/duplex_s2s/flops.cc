#include "duplex_model.h"

namespace s2s::duplex_s2s {
namespace {

/// Leaves out the codec, which is no part of a training step.
bool has_no_product(const std::string& name, bool tied_head) {
  if (name.starts_with("embed_tokens.")) return !tied_head;
  for (const char* table : {"audio_codec.", "embed_audio_tokens.", "embed_held_text.",
                            "speech_generation.audio_embeddings.",
                            "speech_generation.t5_decoder.position_embeddings."}) {
    if (name.starts_with(table)) return true;
  }
  return false;
}

}  // namespace

void DuplexModel::add_flops(const Batch& batch, int64_t width, BatchWeight& weight) {
  const BackboneShape& llm = parts_.llm->shape();
  if (!product_weights_) {
    product_weights_.emplace();
    count_products(*this, &perception_.encoder(), [&](const std::string& name) {
      return has_no_product(name, llm.tied_head) ? nullptr : &*product_weights_;
    });
  }
  const auto frames = static_cast<double>(batch.size() * width);
  weight.model_flops =
      product_weights_->flops(frames) + attention_flops(llm, frames * static_cast<double>(width));
  weight.encoder_flops =
      encoder_flops(perception_.encoder(), batch.size(), batch.source_audio_BS.size(1));
}

}  // namespace s2s::duplex_s2s
