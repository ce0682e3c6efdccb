#include "nn/matrix_product.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "nn/few_rows.h"
#include "nn/parallel_rows.h"

// LibTorch exports this function for its own libraries; no header of the wheel declares it.
// result = beta result + alpha a b by oneDNN; float32 is summed in float32.
namespace at::native {
TORCH_API void mkldnn_matmul(const Tensor& a, const Tensor& b, const Tensor& result, float beta,
                             float alpha);
}  // namespace at::native

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Below so many multiplications oneDNN's preparation costs more than it saves.
constexpr int64_t kFewestMultiplications = 700'000;

bool processor_wants_onednn() {
#if defined(__x86_64__)
  static const bool wants = at::globalContext().hasMKLDNN() && !__builtin_cpu_is("intel") &&
                            __builtin_cpu_supports("avx512f");
  return wants;
#else
  return false;
#endif
}

bool is_plain_float(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.layout() == at::kStrided;
}

bool goes_to_onednn(const at::Tensor& a, const at::Tensor& b, int64_t columns) {
  return processor_wants_onednn() && is_plain_float(a) && is_plain_float(b) &&
         a.numel() * columns >= kFewestMultiplications;
}

std::vector<int64_t> product_sizes(const at::Tensor& a, const at::Tensor& b) {
  std::vector<int64_t> sizes = a.sizes().vec();
  sizes.back() = b.size(-1);
  return sizes;
}

at::Tensor biased_product(const at::Tensor& x_NK, const at::Tensor& weight,
                          const at::Tensor& bias) {
  const std::vector<int64_t> sizes{x_NK.size(0), weight.size(0)};
  const at::Tensor y = at::empty(sizes, x_NK.options());
  if (bias.defined()) y.copy_(bias.expand(sizes));
  at::native::mkldnn_matmul(x_NK, weight.t(), y, bias.defined() ? 1.0F : 0.0F, 1.0F);
  return y;
}

/// Generation: no gradient is wanted and the weight is all there is to read.
bool are_few_rows(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  constexpr int64_t kMostRows = 16;
  if (!is_plain_float(x) || !is_plain_float(weight) || (bias.defined() && !is_plain_float(bias))) {
    return false;
  }
  const int64_t num_rows = x.numel() / std::max<int64_t>(1, x.size(-1));
  const bool wants_gradient =
      at::GradMode::is_enabled() &&
      (x.requires_grad() || weight.requires_grad() || (bias.defined() && bias.requires_grad()));
  return !wants_gradient && num_rows > 0 && num_rows <= kMostRows && weight.is_contiguous() &&
         (!bias.defined() || bias.is_contiguous());
}

at::Tensor few_rows_product(const at::Tensor& x_in, const at::Tensor& weight,
                            const at::Tensor& bias) {
  const at::Tensor x = x_in.contiguous();
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  const at::Tensor y = at::empty(sizes, x.options());
  const rows::FewRows job{x.const_data_ptr<float>(),
                          weight.const_data_ptr<float>(),
                          bias.defined() ? bias.const_data_ptr<float>() : nullptr,
                          y.mutable_data_ptr<float>(),
                          x.numel() / x.size(-1),
                          x.size(-1),
                          weight.size(0)};
  constexpr int64_t kOutputsPerPiece = 64;
  const int64_t pieces = (job.outer + kOutputsPerPiece - 1) / kOutputsPerPiece;
  parallel_rows(pieces, 4, [&](int64_t begin, int64_t end) {
    rows::run(job, begin * kOutputsPerPiece, std::min(job.outer, end * kOutputsPerPiece));
  });
  return y;
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    const at::Tensor rows = x.reshape({-1, x.size(-1)});
    context->save_for_backward({rows, weight});
    context->saved_data["sizes"] = x.sizes().vec();
    context->saved_data["is_biased"] = bias.has_value();
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.back() = weight.size(0);
    return biased_product(rows, weight, bias.value_or(at::Tensor())).view(sizes);
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &rows = saved[0], &weight = saved[1];
    const at::Tensor grad = outputs[0].reshape({-1, weight.size(0)});
    variable_list grads(3);
    if (context->needs_input_grad(0)) {
      grads[0] = product(grad, weight).view(context->saved_data["sizes"].toIntVector());
    }
    if (context->needs_input_grad(1)) grads[1] = product(grad.t(), rows);
    // An absent bias has no number of its own to ask for.
    if (context->saved_data["is_biased"].toBool() && context->needs_input_grad(2)) {
      grads[2] = grad.sum(0);
    }
    return grads;
  }
};

}  // namespace

at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const bool is_cast = at::autocast::is_autocast_enabled(at::kCPU);
  if (!is_cast && are_few_rows(x, weight, bias)) return few_rows_product(x, weight, bias);
  if (!is_cast && goes_to_onednn(x, weight, weight.size(0)) &&
      (!bias.defined() || is_plain_float(bias))) {
    return LinearFunction::apply(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
  }
  return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  if (!goes_to_onednn(a, b, b.size(-1))) return at::matmul(a, b);
  const at::Tensor out = at::empty(product_sizes(a, b), a.options());
  at::native::mkldnn_matmul(a, b, out, 0.0F, 1.0F);
  return out;
}

void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
  if (goes_to_onednn(a, b, b.size(-1))) {
    at::native::mkldnn_matmul(a, b, sum, 1.0F, 1.0F);
  } else if (a.dim() == 3) {
    sum.baddbmm_(a, b);
  } else {
    sum.addmm_(a, b);
  }
}

}  // namespace s2s
