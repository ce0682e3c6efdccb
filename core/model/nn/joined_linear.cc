#include "nn/joined_linear.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

bool follow_each_other(at::TensorList parts) {
  const at::Tensor& first = parts.front();
  int64_t end = first.storage_offset();
  for (const at::Tensor& part : parts) {
    const bool is_next = part.is_alias_of(first) && part.storage_offset() == end &&
                         part.scalar_type() == first.scalar_type() && part.is_contiguous() &&
                         part.sizes().slice(1).equals(first.sizes().slice(1));
    if (!is_next) return false;
    end += part.numel();
  }
  return true;
}

int64_t num_rows(at::TensorList parts) {
  int64_t rows = 0;
  for (const at::Tensor& part : parts) rows += part.size(0);
  return rows;
}

/// One tensor over the memory of all parts.
class JoinRows : public Function<JoinRows> {
 public:
  static at::Tensor forward(AutogradContext* context, at::TensorList parts) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    std::vector<int64_t> heights;
    for (const at::Tensor& part : parts) heights.push_back(part.size(0));
    std::vector<int64_t> sizes = parts.front().sizes().vec();
    sizes[0] = num_rows(parts);
    context->saved_data["heights"] = std::move(heights);
    return parts.front().as_strided(sizes, parts.front().strides(), parts.front().storage_offset());
  }
  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    return outputs[0].split_with_sizes(context->saved_data["heights"].toIntVector(), 0);
  }
};

class SplitColumns : public Function<SplitColumns> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& y,
                               const std::vector<int64_t>& widths) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->saved_data["widths"] = widths;
    return y.split_with_sizes(widths, -1);
  }
  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const std::vector<int64_t> widths = context->saved_data["widths"].toIntVector();
    const auto known = std::find_if(outputs.begin(), outputs.end(),
                                    [](const at::Tensor& grad) { return grad.defined(); });
    variable_list grads = outputs;
    for (size_t i = 0; i < grads.size(); ++i) {
      if (grads[i].defined()) continue;
      std::vector<int64_t> sizes = known->sizes().vec();
      sizes.back() = widths[i];
      grads[i] = at::zeros(sizes, known->options());
    }
    return {at::cat(grads, -1), {}};
  }
};

bool is_called_alone(Linear& layer) {
  return layer.has_lora() || (layer.hooks() != nullptr && !layer.hooks()->only_calls(layer));
}

}  // namespace

at::Tensor joined_linear(const at::Tensor& x, std::initializer_list<Linear*> layers) {
  const at::DeviceType device = x.device().type();
  if (device == at::kCPU || at::autocast::is_autocast_enabled(device)) return {};
  if (std::any_of(layers.begin(), layers.end(), [](Linear* l) { return is_called_alone(*l); })) {
    return {};
  }
  variable_list weights, biases;
  for (Linear* const layer : layers) {
    if (layer->hooks() != nullptr) layer->hooks()->use(*layer);
    weights.push_back(layer->weight);
    if (layer->bias.defined()) biases.push_back(layer->bias);
  }
  if (!follow_each_other(weights)) return {};
  if (biases.empty()) return at::linear(x, JoinRows::apply(at::TensorList(weights)));
  if (biases.size() < weights.size() || !follow_each_other(biases)) return {};
  return at::linear(x, JoinRows::apply(at::TensorList(weights)),
                    JoinRows::apply(at::TensorList(biases)));
}

std::vector<at::Tensor> split_columns(const at::Tensor& y, const std::vector<int64_t>& widths) {
  return SplitColumns::apply(y, widths);
}

}  // namespace s2s
