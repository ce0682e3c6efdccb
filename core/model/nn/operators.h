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
/// autograd function (rms_norm.cc, gated.cc, rotation.cc). An implementation is chosen by the type
/// of device. operators.cc says what each returns.
struct Operators {
  using Two = std::tuple<at::Tensor, at::Tensor>;
  using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
  using Norm = Two(const at::Tensor& x, const at::Tensor& weight, double eps, bool adds_one);
  using NormBackward = Two(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                           const at::Tensor& inv_rms, bool adds_one);
  using AddNorm = Three(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight,
                        double eps, bool adds_one);
  using AddNormBackward = Three(const at::Tensor& d_sum, const at::Tensor& d_normed,
                                const at::Tensor& sum, const at::Tensor& weight,
                                const at::Tensor& inv_rms, bool adds_one, at::ScalarType y_type);
  using Gated = at::Tensor(const at::Tensor& gate, const at::Tensor& up, bool is_silu);
  using GatedBackward = Two(const at::Tensor& dy, const at::Tensor& gate, const at::Tensor& up,
                            bool is_silu);
  using GatedHalves = at::Tensor(const at::Tensor& gate_up, bool is_silu);
  using GatedHalvesBackward = at::Tensor(const at::Tensor& dy, const at::Tensor& gate_up,
                                         bool is_silu);
  using RotateQk = Two(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                       const at::Tensor& sin, bool is_inverse);
  using RotateQkv = void(const at::Tensor& qkv, const at::Tensor& cos, const at::Tensor& sin,
                         int64_t num_heads, int64_t num_kv_heads);
  using RotateQkvBackward = at::Tensor(const at::Tensor& dq, const at::Tensor& dk,
                                       const at::Tensor& dv, const at::Tensor& cos,
                                       const at::Tensor& sin);

  Operators();

  torch::Library library;
  c10::TypedOperatorHandle<Norm> rms_norm;
  c10::TypedOperatorHandle<NormBackward> rms_norm_backward;
  c10::TypedOperatorHandle<AddNorm> add_rms_norm;
  c10::TypedOperatorHandle<AddNormBackward> add_rms_norm_backward;
  c10::TypedOperatorHandle<Gated> gated;
  c10::TypedOperatorHandle<GatedBackward> gated_backward;
  c10::TypedOperatorHandle<GatedHalves> gated_halves;
  c10::TypedOperatorHandle<GatedHalvesBackward> gated_halves_backward;
  c10::TypedOperatorHandle<RotateQk> rotate_qk;
  c10::TypedOperatorHandle<RotateQkv> rotate_qkv_;
  c10::TypedOperatorHandle<RotateQkvBackward> rotate_qkv_backward;
};

/// Defines the operators at the first call. They stay: LibTorch has one dispatcher in a process.
const Operators& operators();

/// Returns true if the type of device of `x` has an implementation of its own.
bool is_implemented(const c10::OperatorHandle& op, const at::Tensor& x);

/// Returns true if the type of device of `x` has an implementation of its own, and kernels take
/// the dtype of `x` (float32, bfloat16 or float16; on a CPU not float16).
bool has_kernel(const c10::OperatorHandle& op, const at::Tensor& x);

/// Makes the component `kernels` of a type of device. Its operators and graphs are in use while it
/// lives. Returns null for the CPU, if no plugin provides one, or if S2S_KERNELS is `plain`. With
/// S2S_GRAPHS `off`, its graphs are not used. Errors: those of the plugin.
std::unique_ptr<DeviceKernels> make_device_kernels(at::DeviceType device,
                                                   const BuildContext& context);

/// Lets make_device_graph ask these kernels, as long as they live.
void offer_graphs(at::DeviceType device, DeviceKernels& kernels);

}  // namespace s2s
