// One-pass kernels for NVIDIA GPUs, compiled for the device at first use, and graphs. No CUDA
// toolkit is needed, neither to build this nor to run it: the compiler is NVRTC, which LibTorch
// brings.

#include <torch/library.h>

#include "graph.h"
#include "ops.h"
#include "s2s/kinds/device_kernels.h"
#include "s2s/plugin.h"

namespace s2s::cuda {
namespace {

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
    const auto ops = std::make_shared<NormOps>(std::move(jit));
    using at::Tensor;
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
                                                 const Tensor& inv_rms, bool adds_one) {
      return ops->add_rms_norm_backward(d_sum, d_normed, sum, weight, inv_rms, adds_one);
    });
    names_ = {"rms_norm", "add_rms_norm"};
  }
  std::vector<std::string> operators() const override { return names_; }
  std::unique_ptr<DeviceGraph> make_graph() override { return cuda::make_graph(warn_); }

 private:
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
  return {.name = "cuda",
          .summary = "one-pass norms for NVIDIA GPUs, compiled at first use, and graphs",
          .create = create,
          .options = list_options<KernelOptions>};
}

}  // namespace
}  // namespace s2s::cuda

S2S_PLUGIN("cuda", "0.1.0", "Apache-2.0", "kernels:cuda") { registrar.add(s2s::cuda::component()); }
