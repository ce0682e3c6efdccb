#include "product_weights.h"

#include <c10/util/accumulate.h>

#include <set>

#include "duplex_model.h"

namespace s2s::duplex {
namespace {

bool is_looked_up(const std::string& name, bool tied_head) {
  if (name.starts_with("embed_tokens.")) return !tied_head;
  for (const char* table :
       {"embed_audio_tokens.", "embed_held_text.", "speech_generation.audio_embeddings.",
        "speech_generation.t5_decoder.position_embeddings."}) {
    if (name.starts_with(table)) return true;
  }
  return false;
}

}  // namespace

ProductWeights count_product_weights(Block& model, Block& encoder, bool tied_head) {
  ProductWeights weights;
  std::set<const at::Tensor*> of_encoder;
  for (const NamedTensor& parameter : encoder.named_parameters()) {
    of_encoder.insert(parameter.tensor);
  }
  for (const NamedTensor& parameter : model.named_parameters()) {
    const std::string& name = parameter.name;
    const bool trains = parameter.tensor->requires_grad();
    if (of_encoder.contains(parameter.tensor)) {
      weights.trains_encoder |= trains;
      continue;
    }
    const bool is_matrix = parameter.sizes.size() >= 2;
    if (!is_matrix || name.starts_with("audio_codec.") || is_looked_up(name, tied_head)) continue;
    const auto count = static_cast<double>(c10::multiply_integers(parameter.sizes));
    weights.all += count;
    if (trains) weights.trained += count;
  }
  return weights;
}

/// Two for each weight and frame in the forward, the gradient of its input and, if it trains, its
/// own. Attention has two products over all pairs of frames, and each has two gradients: 12 L H S.
/// Source: Chowdhery et al. 2022 (arxiv.org/abs/2204.02311), appendix B.
void DuplexModel::add_flops(const Batch& batch, int64_t width, BatchWeight& weight) {
  const BackboneShape& llm = parts_.llm->shape();
  if (!product_weights_) {
    product_weights_ = std::make_unique<ProductWeights>(
        count_product_weights(*this, perception_.encoder(), llm.tied_head));
  }
  const ProductWeights& weights = *product_weights_;
  const auto frames = static_cast<double>(batch.size() * width);
  const auto queries = static_cast<double>(llm.num_layers * llm.num_attention_heads * llm.head_dim);
  weight.model_flops =
      frames * (4 * weights.all + 2 * weights.trained + 12 * queries * static_cast<double>(width));
  const double passes = weights.trains_encoder ? 3 : 1;
  weight.encoder_flops =
      passes * perception_.encoder().forward_flops(batch.size(), batch.source_audio_BS.size(1));
}

}  // namespace s2s::duplex
