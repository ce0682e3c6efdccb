#include "nn/operators.h"

#include <cstdlib>
#include <string_view>

#include "nn/gated_rows.h"
#include "nn/rms_norm_rows.h"
#include "nn/rotation_rows.h"
#include "nn/row_runs.h"
#include "s2s/error.h"

namespace s2s {
namespace {

void define_norms(torch::Library& library) {
  // -> normed, 1 / rms of each row (float32).
  library.def("rms_norm(Tensor x, Tensor weight, float eps, bool adds_one) -> (Tensor, Tensor)");
  // -> dx, dweight.
  library.def(
      "rms_norm_backward(Tensor dy, Tensor x, Tensor weight, Tensor inv_rms, bool adds_one)"
      " -> (Tensor, Tensor)");
  // The sum has the dtype of x.
  library.def(
      "add_rms_norm(Tensor x, Tensor y, Tensor weight, float eps, bool adds_one)"
      " -> (Tensor sum, Tensor normed, Tensor inv_rms)");
  // dy has the dtype y_type. It is dx itself where that is the dtype of x.
  library.def(
      "add_rms_norm_backward(Tensor d_sum, Tensor d_normed, Tensor sum, Tensor weight,"
      " Tensor inv_rms, bool adds_one, ScalarType y_type)"
      " -> (Tensor dx, Tensor dy, Tensor d_weight)");
  library.impl("rms_norm", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(rms_norm_rows)));
  library.impl("rms_norm_backward",
               torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(rms_norm_rows_backward)));
}

void define_gates(torch::Library& library) {
  // activation(gate) * up; is_silu false: GELU with the tanh approximation.
  library.def("gated(Tensor gate, Tensor up, bool is_silu) -> Tensor");
  // -> dgate, dup.
  library.def(
      "gated_backward(Tensor dy, Tensor gate, Tensor up, bool is_silu) -> (Tensor, Tensor)");
  // The same for [..., 2 F], in which gate and up are adjacent -> [..., F].
  library.def("gated_halves(Tensor gate_up, bool is_silu) -> Tensor");
  // -> [..., 2 F].
  library.def("gated_halves_backward(Tensor dy, Tensor gate_up, bool is_silu) -> Tensor");
  const auto cpu = [&](const char* name, auto function) {
    library.impl(name, torch::dispatch(c10::DispatchKey::CPU, function));
  };
  cpu("gated", TORCH_FN(gated_rows));
  cpu("gated_backward", TORCH_FN(gated_rows_backward));
  cpu("gated_halves", TORCH_FN(gated_halves_rows));
  cpu("gated_halves_backward", TORCH_FN(gated_halves_rows_backward));
}

/// cos and sin are contiguous float32 [T, D].
void define_rotations(torch::Library& library) {
  // q [B, T, heads, D] and k [B, T, kv, D] -> the same, contiguous. Rows and heads of the inputs
  // may be apart; elements are not.
  library.def(
      "rotate_qk(Tensor q, Tensor k, Tensor cos, Tensor sin, bool is_inverse)"
      " -> (Tensor, Tensor)");
  // In place in [B, T, (heads + 2 kv) D], contiguous; values are left alone.
  library.def(
      "rotate_qkv_(Tensor(a!) qkv, Tensor cos, Tensor sin, int num_heads, int num_kv_heads) -> ()");
  // -> the gradient of the packed tensor, contiguous. Inputs as those of rotate_qk.
  library.def(
      "rotate_qkv_backward(Tensor dq, Tensor dk, Tensor dv, Tensor cos, Tensor sin) -> Tensor");
  const auto cpu = [&](const char* name, auto function) {
    library.impl(name, torch::dispatch(c10::DispatchKey::CPU, function));
  };
  cpu("rotate_qk", TORCH_FN(rotate_qk_rows));
  cpu("rotate_qkv_", TORCH_FN(rotate_qkv_rows));
  cpu("rotate_qkv_backward", TORCH_FN(rotate_qkv_rows_backward));
}

/// The library of the operators, with the CPU's implementations.
torch::Library make_library() {
  torch::Library library(torch::Library::DEF, "s2s", std::nullopt, __FILE__, __LINE__);
  define_norms(library);
  define_gates(library);
  define_rotations(library);
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
      add_rms_norm_backward(find_operator<AddNormBackward>("s2s::add_rms_norm_backward")),
      gated(find_operator<Gated>("s2s::gated")),
      gated_backward(find_operator<GatedBackward>("s2s::gated_backward")),
      gated_halves(find_operator<GatedHalves>("s2s::gated_halves")),
      gated_halves_backward(find_operator<GatedHalvesBackward>("s2s::gated_halves_backward")),
      rotate_qk(find_operator<RotateQk>("s2s::rotate_qk")),
      rotate_qkv_(find_operator<RotateQkv>("s2s::rotate_qkv_")),
      rotate_qkv_backward(find_operator<RotateQkvBackward>("s2s::rotate_qkv_backward")) {}

const Operators& operators() {
  static const Operators defined;
  return defined;
}

bool is_implemented(const c10::OperatorHandle& op, const at::Tensor& x) {
  return op.hasKernelForDispatchKey(c10::legacyExtractDispatchKey(x.key_set()));
}

bool has_kernel(const c10::OperatorHandle& op, const at::Tensor& x) {
  if (x.is_cpu()) return runs_in_rows(x) && is_implemented(op, x);
  const at::ScalarType type = x.scalar_type();
  return (type == at::kFloat || type == at::kBFloat16 || type == at::kHalf) &&
         is_implemented(op, x);
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
