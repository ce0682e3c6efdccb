#include "s2s/model_flops.h"

#include <c10/util/accumulate.h>

#include <set>

namespace s2s {

void count_products(Block& model, Encoder* encoder,
                    const std::function<ProductWeights*(const std::string& name)>& group) {
  std::set<const at::Tensor*> of_encoder;
  if (encoder != nullptr) {
    for (const NamedTensor& parameter : encoder->named_parameters()) {
      of_encoder.insert(parameter.tensor);
    }
  }
  for (const NamedTensor& parameter : model.named_parameters()) {
    if (parameter.sizes.size() < 2 || of_encoder.contains(parameter.tensor)) continue;
    ProductWeights* const weights = group(parameter.name);
    if (weights == nullptr) continue;
    const auto count = static_cast<double>(c10::multiply_integers(parameter.sizes));
    weights->all += count;
    if (parameter.tensor->requires_grad()) weights->trained += count;
  }
}

double attention_flops(const BackboneShape& shape, double pairs) {
  const int64_t queries = shape.num_layers * shape.num_attention_heads * shape.head_dim;
  return 12 * static_cast<double>(queries) * pairs;
}

double encoder_flops(Encoder& encoder, int64_t rows, int64_t num_samples) {
  bool trains = false;
  for (const NamedTensor& parameter : encoder.named_parameters()) {
    trains |= parameter.tensor->requires_grad();
  }
  return (trains ? 3 : 1) * encoder.forward_flops(rows, num_samples);
}

}  // namespace s2s
