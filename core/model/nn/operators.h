#pragma once
// s2s's own operators in LibTorch's dispatcher (decision record 0025).

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <memory>
#include <tuple>

#include "s2s/kinds/device_kernels.h"
#include "s2s/registry.h"

namespace s2s {

/// The operators of the name space `s2s`, without gradients of their own: each belongs to one
/// autograd function (rms_norm.cc). An implementation is chosen by the type of device.
struct Operators {
  using Two = std::tuple<at::Tensor, at::Tensor>;
  using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
  using Norm = Two(const at::Tensor& x, const at::Tensor& weight, double eps, bool adds_one);
  using NormBackward = Two(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                           const at::Tensor& inv_rms, bool adds_one);
  using AddNorm = Three(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight,
                        double eps, bool adds_one);
  using AddNormBackward = Two(const at::Tensor& d_sum, const at::Tensor& d_normed,
                              const at::Tensor& sum, const at::Tensor& weight,
                              const at::Tensor& inv_rms, bool adds_one);

  Operators();

  torch::Library library;
  c10::TypedOperatorHandle<Norm> rms_norm;
  c10::TypedOperatorHandle<NormBackward> rms_norm_backward;
  c10::TypedOperatorHandle<AddNorm> add_rms_norm;
  c10::TypedOperatorHandle<AddNormBackward> add_rms_norm_backward;
};

/// Defines the operators at the first call. They stay: LibTorch has one dispatcher in a process.
const Operators& operators();

/// Returns true if the type of device of `x` has an implementation of its own.
bool is_implemented(const c10::OperatorHandle& op, const at::Tensor& x);

/// Makes the component `kernels` of a type of device. Its operators and graphs are in use while it
/// lives. Returns null for the CPU, if no plugin provides one, or if S2S_KERNELS is `plain`. With
/// S2S_GRAPHS `off`, its graphs are not used. Errors: those of the plugin.
std::unique_ptr<DeviceKernels> make_device_kernels(at::DeviceType device,
                                                   const BuildContext& context);

/// Lets make_device_graph ask these kernels, as long as they live.
void offer_graphs(at::DeviceType device, DeviceKernels& kernels);

}  // namespace s2s
