#include "nn/fused.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nn/kernels/row_kernels.h"
#include "nn/row_runs.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// activation(gate) * up. Gate is one of the activations of row_kernels.h.
template <class Gate>
class GatedFunction : public torch::autograd::Function<GatedFunction<Gate>> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate_in,
                            const at::Tensor& up_in) {
    const at::Tensor gate = gate_in.contiguous();
    const at::Tensor up = up_in.contiguous();
    const at::Tensor y = at::empty_like(gate);
    with_type(gate, [&](auto type) {
      using T = decltype(type);
      run_elements(rows::GatedRows<T, Gate>{data_of<T>(gate), data_of<T>(up), data_of<T>(y)},
                   gate.numel());
    });
    context->save_for_backward({gate, up});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor dy = outputs[0].contiguous();
    const at::Tensor d_gate = at::empty_like(dy);
    const at::Tensor d_up = at::empty_like(dy);
    with_type(dy, [&](auto type) {
      using T = decltype(type);
      run_elements(
          rows::GatedGradRows<T, Gate>{data_of<T>(dy), data_of<T>(saved[0]), data_of<T>(saved[1]),
                                       data_of<T>(d_gate), data_of<T>(d_up)},
          dy.numel());
    });
    return {d_gate, d_up};
  }
};

at::Tensor turn(const at::Tensor& x_in, const at::Tensor& cos_TD, const at::Tensor& sin_TD,
                float sign) {
  const at::Tensor x = x_in.contiguous();
  const at::Tensor y = at::empty_like(x);
  const int64_t heads = x.size(2);
  const int64_t dim = x.size(3);
  with_type(x, [&](auto type) {
    using T = decltype(type);
    run_rows(rows::RotaryRows<T>{data_of<T>(x), data_of<float>(cos_TD), data_of<float>(sin_TD),
                                 data_of<T>(y), heads, dim, x.size(1), sign},
             x.size(0) * x.size(1), heads * dim);
  });
  return y;
}

class RotateFunction : public torch::autograd::Function<RotateFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& cos,
                            const at::Tensor& sin) {
    context->save_for_backward({cos, sin});
    return turn(x, cos, sin, 1);
  }
  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const variable_list saved = context->get_saved_variables();
    return {turn(outputs[0], saved[0], saved[1], -1), {}, {}};
  }
};

}  // namespace

at::Tensor swiglu_plain(const at::Tensor& gate, const at::Tensor& up) {
  return at::silu(gate) * up;
}

at::Tensor geglu_plain(const at::Tensor& gate, const at::Tensor& up) {
  return at::gelu(gate, "tanh") * up;
}

static bool are_alike(const at::Tensor& gate, const at::Tensor& up) {
  return runs_in_rows(gate) && gate.scalar_type() == up.scalar_type() && gate.sizes() == up.sizes();
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  return are_alike(gate, up) ? GatedFunction<rows::Silu>::apply(gate, up) : swiglu_plain(gate, up);
}

at::Tensor geglu(const at::Tensor& gate, const at::Tensor& up) {
  return are_alike(gate, up) ? GatedFunction<rows::GeluTanh>::apply(gate, up)
                             : geglu_plain(gate, up);
}

at::Tensor rotate_plain(const at::Tensor& x_BTHD, const at::Tensor& cos_TD,
                        const at::Tensor& sin_TD) {
  const at::Tensor cos = cos_TD.to(x_BTHD.scalar_type()).unsqueeze(1);
  const at::Tensor sin = sin_TD.to(x_BTHD.scalar_type()).unsqueeze(1);
  const auto halves = x_BTHD.chunk(2, -1);
  return x_BTHD * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
}

at::Tensor rotate(const at::Tensor& x_BTHD, const at::Tensor& cos_TD, const at::Tensor& sin_TD) {
  const bool is_fused = runs_in_rows(x_BTHD) && cos_TD.scalar_type() == at::kFloat &&
                        cos_TD.is_contiguous() && sin_TD.is_contiguous();
  return is_fused ? RotateFunction::apply(x_BTHD, cos_TD, sin_TD)
                  : rotate_plain(x_BTHD, cos_TD, sin_TD);
}

}  // namespace s2s
