#include "nn/kernels/striding_fused.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/parallel_rows.h"
#include "nn/kernels/striding_kernels.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

int64_t thinned(int64_t size, int64_t left) { return (size + left + 1 - 3) / 2 + 1; }

/// Converts [C, 1, 3, 3] to [9, C], and back.
at::Tensor taps_of(const at::Tensor& weight) { return weight.view({-1, 9}).t().contiguous(); }
at::Tensor weight_of(const at::Tensor& taps) {
  return taps.t().contiguous().view({taps.size(1), 1, 3, 3});
}

const float* numbers(const at::Tensor& x) { return x.const_data_ptr<float>(); }
float* changeable(const at::Tensor& x) { return x.mutable_data_ptr<float>(); }

template <class Job>
void run_blocks(const Job& job) {
  parallel_rows(job.size.channels / striding::kBlock, 1,
                [&](int64_t begin, int64_t end) { striding::run(job, begin, end); });
}

striding::Geometry geometry(at::IntArrayRef sizes_BTFC, int64_t left) {
  return {sizes_BTFC[0],
          sizes_BTFC[1],
          sizes_BTFC[2],
          thinned(sizes_BTFC[1], left),
          thinned(sizes_BTFC[2], left),
          left,
          sizes_BTFC[3]};
}

at::Tensor run_forward(const striding::Geometry& size, const striding::Source& source,
                       const at::Tensor& taps, const at::Tensor& bias) {
  const at::Tensor out =
      at::empty({size.batch, size.out_frames, size.out_bands, size.channels}, bias.options());
  run_blocks(striding::Forward{size, source, numbers(taps), numbers(bias), changeable(out)});
  return out;
}

striding::Source image_source(const at::Tensor& lengths, const at::Tensor& image,
                              const at::Tensor& taps, const at::Tensor& bias) {
  striding::Source source{lengths.const_data_ptr<int64_t>()};
  source.image = numbers(image);
  source.image_frames = image.size(1);
  source.image_bands = image.size(2);
  source.first_taps = numbers(taps);
  source.first_bias = numbers(bias);
  return source;
}

striding::Source before_source(const at::Tensor& lengths, const at::Tensor& x) {
  striding::Source source{lengths.const_data_ptr<int64_t>()};
  source.before = numbers(x);
  return source;
}

class FirstTwoConvolutions : public torch::autograd::Function<FirstTwoConvolutions> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& image,
                            const at::Tensor& lengths, const at::Tensor& first_weight,
                            const at::Tensor& first_bias, const at::Tensor& weight,
                            const at::Tensor& bias, int64_t left) {
    const std::vector<int64_t> sizes{image.size(0), (image.size(1) - 1) / 2,
                                     (image.size(2) - 1) / 2, bias.size(0)};
    const at::Tensor first_taps = taps_of(first_weight), taps = taps_of(weight);
    context->save_for_backward({image, lengths, first_taps, first_bias, taps, bias});
    context->saved_data["sizes"] = sizes;
    context->saved_data["left"] = left;
    return run_forward(geometry(sizes, left), image_source(lengths, image, first_taps, first_bias),
                       taps, bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& taps = saved[4];
    const at::Tensor grad = outputs[0].contiguous();
    const at::Tensor grad_taps = at::zeros_like(taps), grad_first_taps = at::zeros_like(taps);
    const at::Tensor grad_bias = at::zeros_like(saved[5]),
                     grad_first_bias = at::zeros_like(saved[5]);
    striding::Backward job{
        geometry(context->saved_data["sizes"].toIntVector(), context->saved_data["left"].toInt()),
        image_source(saved[1], saved[0], saved[2], saved[3]),
        numbers(taps),
        numbers(grad),
        changeable(grad_taps),
        changeable(grad_bias)};
    job.grad_first_taps = changeable(grad_first_taps);
    job.grad_first_bias = changeable(grad_first_bias);
    run_blocks(job);
    return {{},        {}, weight_of(grad_first_taps), grad_first_bias, weight_of(grad_taps),
            grad_bias, {}};
  }
};

class ReluDepthwise : public torch::autograd::Function<ReluDepthwise> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& lengths, const at::Tensor& weight,
                            const at::Tensor& bias, int64_t left) {
    const at::Tensor taps = taps_of(weight);
    context->save_for_backward({x, lengths, taps, bias});
    context->saved_data["left"] = left;
    return run_forward(geometry(x.sizes(), left), before_source(lengths, x), taps, bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &taps = saved[2];
    const at::Tensor grad = outputs[0].contiguous();
    const at::Tensor grad_taps = at::zeros_like(taps), grad_bias = at::zeros_like(saved[3]);
    const at::Tensor grad_x = at::zeros_like(x);
    striding::Backward job{geometry(x.sizes(), context->saved_data["left"].toInt()),
                           before_source(saved[1], x),
                           numbers(taps),
                           numbers(grad),
                           changeable(grad_taps),
                           changeable(grad_bias)};
    job.grad_before = changeable(grad_x);
    run_blocks(job);
    return {grad_x, {}, weight_of(grad_taps), grad_bias, {}};
  }
};

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
    // Masked values are zero, as are the negative ones.
    return {at::threshold_backward(outputs[0], context->get_saved_variables()[0], 0), {}};
  }
};

}  // namespace

bool is_striding_fused(const at::Tensor& x, const at::Tensor& weight_C133) {
  return x.is_cpu() && x.numel() > 0 && weight_C133.scalar_type() == at::kFloat &&
         weight_C133.size(0) % striding::kBlock == 0;
}

at::Tensor first_two_convolutions(const at::Tensor& x_BTF, const at::Tensor& lengths_B,
                                  const StridingWeights& first, const StridingWeights& depthwise,
                                  int64_t left) {
  // On an axis of even size this pads one zero more than the convolution reads.
  const at::Tensor image = at::constant_pad_nd(x_BTF.detach().to(at::kFloat), {left, 1, left, 1});
  return FirstTwoConvolutions::apply(image, lengths_B.contiguous(), first.weight, first.bias,
                                     depthwise.weight, depthwise.bias, left);
}

at::Tensor relu_depthwise(const at::Tensor& x_BTFC, const at::Tensor& lengths_B,
                          const StridingWeights& depthwise, int64_t left) {
  return ReluDepthwise::apply(x_BTFC.to(at::kFloat).contiguous(), lengths_B.contiguous(),
                              depthwise.weight, depthwise.bias, left);
}

at::Tensor masked_frames(const at::Tensor& x, const at::Tensor& lengths_B) {
  return x.masked_fill(frame_mask(x, lengths_B).logical_not(), 0.0);
}

at::Tensor masked_relu(const at::Tensor& x, const at::Tensor& lengths_B) {
  return MaskedRelu::apply(x, lengths_B);
}

}  // namespace s2s
