// Floating-point operations of a micro-batch, by formula.

#include <c10/util/accumulate.h>

#include <set>

#include "stt_model.h"

namespace s2s::stt {
namespace {

/// Elements of the matrices that are multiplied with at every position of the language model.
struct MatrixSizes {
  double all = 0;
  double trained = 0;  // of these; their gradient is one more product
  bool trains_encoder = false;
};

/// Look-ups do not count: embeddings, unless the head is the agent's.
MatrixSizes matrix_sizes(Block& model, Block& encoder, bool tied_head) {
  MatrixSizes sizes;
  std::set<const at::Tensor*> of_encoder;
  for (const NamedTensor& parameter : encoder.named_parameters()) {
    of_encoder.insert(parameter.tensor);
  }
  for (const NamedTensor& parameter : model.named_parameters()) {
    const bool trains = parameter.tensor->requires_grad();
    const std::string& name = parameter.name;
    if (of_encoder.contains(parameter.tensor)) {
      sizes.trains_encoder |= trains;
      continue;
    }
    const bool is_looked_up =
        name.starts_with("embed_asr_tokens.") || (name.starts_with("embed_tokens.") && !tied_head);
    if (parameter.sizes.size() < 2 || is_looked_up) continue;
    const auto count = static_cast<double>(c10::multiply_integers(parameter.sizes));
    sizes.all += count;
    if (trains) sizes.trained += count;
  }
  return sizes;
}

}  // namespace

/// Two for each weight and position in the forward, the gradient of its input and, if it trains,
/// its own. Attention has two products over all pairs, and each has two gradients: 12 L H S.
/// Source: Chowdhery et al. 2022 (arxiv.org/abs/2204.02311), appendix B.
void SttModel::add_flops(const Batch& batch, int64_t width, BatchWeight& weight) {
  const BackboneShape& llm = parts_.llm->shape();
  const MatrixSizes sizes = matrix_sizes(*this, perception_.encoder(), llm.tied_head);
  const auto queries = static_cast<double>(llm.num_layers * llm.num_attention_heads * llm.head_dim);
  const auto positions = static_cast<double>(batch.size() * width);
  weight.model_flops +=
      positions * (4 * sizes.all + 2 * sizes.trained + 12 * queries * static_cast<double>(width));
  if (!batch.source_audio_BS.defined()) return;
  const double passes = sizes.trains_encoder ? 3 : 1;
  weight.encoder_flops =
      passes * perception_.encoder().forward_flops(batch.size(), batch.source_audio_BS.size(1));
}

}  // namespace s2s::stt
