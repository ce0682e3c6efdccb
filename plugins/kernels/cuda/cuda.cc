// One-pass kernels for NVIDIA GPUs, compiled for the device at first use, and graphs. No CUDA
// toolkit is needed, neither to build this nor to run it: the compiler is NVRTC, which LibTorch
// brings.

#include <torch/library.h>

#include "gated_ops.h"
#include "graph.h"
#include "norm_ops.h"
#include "rotation_ops.h"
#include "s2s/kinds/device_kernels.h"
#include "s2s/plugin.h"

namespace s2s::cuda {
namespace {

using at::Tensor;

struct KernelOptions {
  void visit(OptionVisitor&) {}
};

class CudaKernels : public DeviceKernels {
 public:
  /// jit: null registers nothing.
  CudaKernels(std::shared_ptr<Jit> jit, std::function<void(const std::string&)> warn)
      : library_(torch::Library::IMPL, "s2s", c10::DispatchKey::CUDA, __FILE__, __LINE__),
        warn_(std::move(warn)) {
    if (jit == nullptr) return;
    add_norms(std::make_shared<NormOps>(jit));
    add_gates(std::make_shared<GatedOps>(jit));
    add_rotations(std::make_shared<RotationOps>(jit));
  }
  std::vector<std::string> operators() const override { return names_; }
  std::unique_ptr<DeviceGraph> make_graph() override { return cuda::make_graph(warn_); }

 private:
  void add_norms(const std::shared_ptr<NormOps>& ops) {
    library_.impl("rms_norm",
                  [ops](const Tensor& x, const Tensor& weight, double eps, bool adds_one) {
                    return ops->rms_norm(x, weight, eps, adds_one);
                  });
    library_.impl(
        "rms_norm_backward",
        [ops](const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& inv_rms,
              bool adds_one) { return ops->rms_norm_backward(dy, x, weight, inv_rms, adds_one); });
    library_.impl("add_rms_norm",
                  [ops](const Tensor& x, const Tensor& y, const Tensor& weight, double eps,
                        bool adds_one) { return ops->add_rms_norm(x, y, weight, eps, adds_one); });
    library_.impl("add_rms_norm_backward", [ops](const Tensor& d_sum, const Tensor& d_normed,
                                                 const Tensor& sum, const Tensor& weight,
                                                 const Tensor& inv_rms, bool adds_one,
                                                 at::ScalarType y_type) {
      return ops->add_rms_norm_backward(d_sum, d_normed, sum, weight, inv_rms, adds_one, y_type);
    });
    names_.insert(names_.end(), {"rms_norm", "add_rms_norm"});
  }

  void add_gates(const std::shared_ptr<GatedOps>& ops) {
    library_.impl("gated", [ops](const Tensor& gate, const Tensor& up, bool is_silu) {
      return ops->gated(gate, up, is_silu);
    });
    library_.impl("gated_backward",
                  [ops](const Tensor& dy, const Tensor& gate, const Tensor& up, bool is_silu) {
                    return ops->gated_backward(dy, gate, up, is_silu);
                  });
    library_.impl("gated_halves", [ops](const Tensor& gate_up, bool is_silu) {
      return ops->gated_halves(gate_up, is_silu);
    });
    library_.impl("gated_halves_backward",
                  [ops](const Tensor& dy, const Tensor& gate_up, bool is_silu) {
                    return ops->gated_halves_backward(dy, gate_up, is_silu);
                  });
    names_.insert(names_.end(), {"gated", "gated_halves"});
  }

  void add_rotations(const std::shared_ptr<RotationOps>& ops) {
    library_.impl("rotate_qk",
                  [ops](const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin,
                        bool is_inverse) { return ops->rotate_qk(q, k, cos, sin, is_inverse); });
    library_.impl("rotate_qkv_", [ops](const Tensor& qkv, const Tensor& cos, const Tensor& sin,
                                       int64_t num_heads, int64_t num_kv_heads) {
      ops->rotate_qkv_(qkv, cos, sin, num_heads, num_kv_heads);
    });
    library_.impl("rotate_qkv_backward", [ops](const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                               const Tensor& cos, const Tensor& sin) {
      return ops->rotate_qkv_backward(dq, dk, dv, cos, sin);
    });
    names_.insert(names_.end(), {"rotate_qk", "rotate_qkv_"});
  }

  torch::Library library_;
  std::function<void(const std::string&)> warn_;
  std::vector<std::string> names_;
};

std::unique_ptr<DeviceKernels> create(const Config& node, const BuildContext& context) {
  read_options<KernelOptions>(node, context.path);
  std::string why;
  std::unique_ptr<Nvrtc> nvrtc = Nvrtc::open(why);
  if (nvrtc == nullptr) {
    if (context.warn) {
      context.warn(
          "kernels for the GPU cannot be compiled; plain formulas compute the same, "
          "slower: " +
          why);
    }
    return std::make_unique<CudaKernels>(nullptr, context.warn);
  }
  return std::make_unique<CudaKernels>(
      std::make_shared<Jit>(std::move(nvrtc), CubinCache(kernel_cache_folder()), context.warn),
      context.warn);
}

Component<DeviceKernels> component() {
  return {
      .name = "cuda",
      .summary =
          "one-pass norms, gates and rotations for NVIDIA GPUs, compiled at first use, and graphs",
      .create = create,
      .options = list_options<KernelOptions>};
}

}  // namespace
}  // namespace s2s::cuda

S2S_PLUGIN("cuda", "0.1.0", "Apache-2.0", "kernels:cuda") { registrar.add(s2s::cuda::component()); }
