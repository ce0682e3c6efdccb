#include "nn/fused.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "nn/kernels/parallel_rows.h"
#include "nn/kernels/row_kernels.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kElementsPerTask = 32768;
constexpr int64_t kGradChunks = 16;  // fixed, so that sums are independent of the number of threads

bool is_supported(const at::Tensor& x) {
  return x.device().is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

template <class T>
T* data(const at::Tensor& tensor) {
  return tensor.mutable_data_ptr<T>();
}

/// Calls `body` with a value of the tensor's dtype.
template <class Body>
void with_type(const at::Tensor& x, Body body) {
  if (x.scalar_type() == at::kFloat) {
    body(float{});
  } else {
    body(c10::BFloat16{});
  }
}

template <class Job>
void run_rows(const Job& job, int64_t count, int64_t elements_per_row) {
  parallel_rows(count, std::max<int64_t>(1, kElementsPerTask / elements_per_row),
                [&](int64_t begin, int64_t end) { rows::run(job, begin, end); });
}

/// Runs element-wise work in ranges large enough for a thread.
template <class Job>
void run_elements(const Job& job, int64_t count) {
  const int64_t pieces = (count + kElementsPerTask - 1) / kElementsPerTask;
  parallel_rows(pieces, 1, [&](int64_t begin, int64_t end) {
    rows::run(job, begin * kElementsPerTask, std::min(count, end * kElementsPerTask));
  });
}

class RmsNormFunction : public torch::autograd::Function<RmsNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_in,
                            const at::Tensor& weight, double eps, bool adds_one) {
    const at::Tensor x = x_in.contiguous();
    const int64_t dim = x.size(-1);
    const int64_t count = x.numel() / dim;
    const at::Tensor y = at::empty_like(x);
    const at::Tensor inv_rms = at::empty({count}, x.options().dtype(at::kFloat));
    with_type(x, [&](auto type) {
      using T = decltype(type);
      run_rows(rows::RmsNormRows<T>{data<T>(x), data<T>(weight), data<T>(y), data<float>(inv_rms),
                                    dim, static_cast<float>(eps), adds_one},
               count, dim);
    });
    context->save_for_backward({x, weight, inv_rms});
    context->saved_data["adds_one"] = adds_one;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor dy = outputs[0].contiguous();
    const int64_t dim = x.size(-1);
    const int64_t count = x.numel() / dim;
    const int64_t chunk = (count + kGradChunks - 1) / kGradChunks;
    const bool adds_one = context->saved_data["adds_one"].toBool();
    const at::Tensor dx = at::empty_like(x);
    const at::Tensor parts = at::zeros({kGradChunks, dim}, x.options().dtype(at::kFloat));
    with_type(x, [&](auto type) {
      using T = decltype(type);
      parallel_rows(kGradChunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          rows::run(rows::RmsNormGradRows<T>{data<T>(dy), data<T>(x), data<T>(saved[1]),
                                             data<float>(saved[2]), data<T>(dx),
                                             data<float>(parts) + part * dim, dim, adds_one},
                    std::min(count, part * chunk), std::min(count, (part + 1) * chunk));
        }
      });
    });
    return {dx, parts.sum(0).to(x.scalar_type()), {}, {}};
  }
};

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
      run_elements(rows::GatedRows<T, Gate>{data<T>(gate), data<T>(up), data<T>(y)}, gate.numel());
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
      run_elements(rows::GatedGradRows<T, Gate>{data<T>(dy), data<T>(saved[0]), data<T>(saved[1]),
                                                data<T>(d_gate), data<T>(d_up)},
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
    run_rows(rows::RotaryRows<T>{data<T>(x), data<float>(cos_TD), data<float>(sin_TD), data<T>(y),
                                 heads, dim, x.size(1), sign},
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

at::Tensor rms_norm_plain(const at::Tensor& x, const at::Tensor& weight, double eps,
                          NormWeight kind) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor normed = wide * at::rsqrt(wide.square().mean(-1, true) + eps);
  if (kind == NormWeight::kAddedToOne) {
    return (normed * (1 + weight.to(at::kFloat))).to(x.scalar_type());
  }
  return normed.to(x.scalar_type()) * weight;
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, NormWeight kind) {
  const bool is_fused = is_supported(x) && weight.scalar_type() == x.scalar_type() &&
                        weight.is_contiguous() && x.numel() > 0;
  return is_fused ? RmsNormFunction::apply(x, weight, eps, kind == NormWeight::kAddedToOne)
                  : rms_norm_plain(x, weight, eps, kind);
}

at::Tensor swiglu_plain(const at::Tensor& gate, const at::Tensor& up) {
  return at::silu(gate) * up;
}

at::Tensor geglu_plain(const at::Tensor& gate, const at::Tensor& up) {
  return at::gelu(gate, "tanh") * up;
}

static bool are_alike(const at::Tensor& gate, const at::Tensor& up) {
  return is_supported(gate) && gate.scalar_type() == up.scalar_type() && gate.sizes() == up.sizes();
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
  const bool is_fused = is_supported(x_BTHD) && cos_TD.scalar_type() == at::kFloat &&
                        cos_TD.is_contiguous() && sin_TD.is_contiguous();
  return is_fused ? RotateFunction::apply(x_BTHD, cos_TD, sin_TD)
                  : rotate_plain(x_BTHD, cos_TD, sin_TD);
}

}  // namespace s2s
