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
};

/// Look-ups do not count: embeddings, unless the head is the agent's.
MatrixSizes matrix_sizes(Block& model, Block& encoder, bool tied_head) {
  MatrixSizes sizes;
  std::set<const at::Tensor*> of_encoder;
  for (const NamedTensor& parameter : encoder.named_parameters()) {
    of_encoder.insert(parameter.tensor);
  }
  for (const NamedTensor& parameter : model.named_parameters()) {
    const std::string& name = parameter.name;
    if (of_encoder.contains(parameter.tensor)) continue;
    const bool is_looked_up =
        name.starts_with("embed_asr_tokens.") || (name.starts_with("embed_tokens.") && !tied_head);
    if (parameter.sizes.size() < 2 || is_looked_up) continue;
    const auto count = static_cast<double>(c10::multiply_integers(parameter.sizes));
    sizes.all += count;
    if (parameter.tensor->requires_grad()) sizes.trained += count;
  }
  return sizes;
}

}  // namespace

/// Two for each weight and position in the forward, the gradient of its input and, if it trains,
/// its own. Attention has two products over all pairs, and each has two gradients: 12 L H S.
/// Source: Chowdhery et al. 2022 (arxiv.org/abs/2204.02311), appendix B.
void SttModel::add_flops(int64_t rows, int64_t width, BatchWeight& weight) {
  const BackboneShape& llm = parts_.llm->shape();
  const MatrixSizes sizes = matrix_sizes(*this, perception_.encoder(), llm.tied_head);
  const auto queries = static_cast<double>(llm.num_layers * llm.num_attention_heads * llm.head_dim);
  const auto positions = static_cast<double>(rows * width);
  weight.model_flops +=
      positions * (4 * sizes.all + 2 * sizes.trained + 12 * queries * static_cast<double>(width));
}

void SttModel::add_encoder_flops(const at::Tensor& audio_BS, BatchWeight& weight) {
  bool trains = false;
  for (const NamedTensor& parameter : perception_.encoder().named_parameters()) {
    trains |= parameter.tensor->requires_grad();
  }
  weight.encoder_flops =
      (trains ? 3 : 1) * perception_.encoder().forward_flops(audio_BS.size(0), audio_BS.size(1));
}

}  // namespace s2s::stt
