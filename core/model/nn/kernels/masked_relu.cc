#include "nn/kernels/masked_relu.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor frame_mask(const at::Tensor& x, const at::Tensor& lengths_B) {
  const at::Tensor range = at::arange(x.size(1), lengths_B.options());
  at::Tensor mask = range.unsqueeze(0) < lengths_B.unsqueeze(1);
  while (mask.dim() < x.dim()) mask = mask.unsqueeze(-1);
  return mask.to(x.device());
}

void zero_tails(at::Tensor& x, const at::Tensor& lengths_B) {
  if (!x.is_cpu() || !lengths_B.is_cpu()) {
    x.mul_(frame_mask(x, lengths_B));
    return;
  }
  const at::Tensor lengths = lengths_B.to(at::kLong).contiguous();
  const int64_t* length = lengths.const_data_ptr<int64_t>();
  for (int64_t row = 0; row < x.size(0); ++row) {
    const int64_t valid = std::min(length[row], x.size(1));
    x.select(0, row).narrow(0, valid, x.size(1) - valid).zero_();
  }
}

class MaskedRelu : public torch::autograd::Function<MaskedRelu> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& lengths_B) {
    at::Tensor y = x.detach().relu_();
    zero_tails(y, lengths_B);
    context->save_for_backward({y});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    // What was masked is zero, as what was negative.
    return {at::threshold_backward(outputs[0], context->get_saved_variables()[0], 0), {}};
  }
};

}  // namespace

at::Tensor masked_frames(const at::Tensor& x, const at::Tensor& lengths_B) {
  return x.masked_fill(frame_mask(x, lengths_B).logical_not(), 0.0);
}

at::Tensor masked_relu(const at::Tensor& x, const at::Tensor& lengths_B) {
  return MaskedRelu::apply(x, lengths_B);
}

}  // namespace s2s
