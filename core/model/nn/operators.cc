#include "nn/operators.h"

#include <cstdlib>
#include <string_view>

#include "nn/rms_norm_rows.h"
#include "s2s/error.h"

namespace s2s {
namespace {

/// The library of the operators, with the CPU's implementations.
torch::Library make_library() {
  torch::Library library(torch::Library::DEF, "s2s", std::nullopt, __FILE__, __LINE__);
  library.def("rms_norm(Tensor x, Tensor weight, float eps, bool adds_one) -> (Tensor, Tensor)");
  library.def(
      "rms_norm_backward(Tensor dy, Tensor x, Tensor weight, Tensor inv_rms, bool adds_one)"
      " -> (Tensor, Tensor)");
  library.def(
      "add_rms_norm(Tensor x, Tensor y, Tensor weight, float eps, bool adds_one)"
      " -> (Tensor sum, Tensor normed, Tensor inv_rms)");
  library.def(
      "add_rms_norm_backward(Tensor d_sum, Tensor d_normed, Tensor sum, Tensor weight,"
      " Tensor inv_rms, bool adds_one) -> (Tensor, Tensor)");
  library.impl("rms_norm", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(rms_norm_rows)));
  library.impl("rms_norm_backward",
               torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(rms_norm_rows_backward)));
  return library;
}

template <class Signature>
c10::TypedOperatorHandle<Signature> find_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

/// Returns null if no plugin has kernels for the device. That is no error.
const Component<DeviceKernels>* find_kernels(const std::string& device,
                                             const Registries& registries) {
  try {
    return &registries.get<DeviceKernels>(device);
  } catch (const Error& error) {
    if (error.id() != "plugin/unknown") throw;
    return nullptr;
  }
}

/// Returns true if the environment variable has its only value.
bool is_chosen(const char* variable, std::string_view value, const BuildContext& context) {
  const char* const wish = std::getenv(variable);
  if (wish == nullptr || *wish == '\0') return false;
  if (wish == value) return true;
  if (context.warn) {
    context.warn(std::string(variable) + ": '" + wish + "' is ignored; the only value is '" +
                 std::string(value) + "'");
  }
  return false;
}

}  // namespace

Operators::Operators()
    : library(make_library()),
      rms_norm(find_operator<Norm>("s2s::rms_norm")),
      rms_norm_backward(find_operator<NormBackward>("s2s::rms_norm_backward")),
      add_rms_norm(find_operator<AddNorm>("s2s::add_rms_norm")),
      add_rms_norm_backward(find_operator<AddNormBackward>("s2s::add_rms_norm_backward")) {}

const Operators& operators() {
  static const Operators defined;
  return defined;
}

bool is_implemented(const c10::OperatorHandle& op, const at::Tensor& x) {
  return op.hasKernelForDispatchKey(c10::legacyExtractDispatchKey(x.key_set()));
}

std::unique_ptr<DeviceKernels> make_device_kernels(at::DeviceType device,
                                                   const BuildContext& context) {
  if (device == at::kCPU) return nullptr;
  S2S_ASSERT(context.registries != nullptr, "kernels are looked up in the registries");
  if (is_chosen("S2S_KERNELS", "plain", context)) return nullptr;
  const bool with_graphs = !is_chosen("S2S_GRAPHS", "off", context);
  const auto* const component =
      find_kernels(c10::DeviceTypeName(device, /*lower_case=*/true), *context.registries);
  if (component == nullptr) return nullptr;
  std::unique_ptr<DeviceKernels> kernels = component->create(Config::map(), context);
  if (with_graphs) offer_graphs(device, *kernels);
  return kernels;
}

}  // namespace s2s
