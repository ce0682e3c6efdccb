#include "weights/finite.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "weights/tensor_runs.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

/// True when some element has all bits of the exponent set. The compiler vectorizes the inner loop
/// because its length is fixed.
template <class Bits>
inline __attribute__((always_inline)) bool search(const Bits* bits, int64_t count, Bits exponent) {
  constexpr int64_t kBlock = 256;
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    Bits found = 0;
    for (int64_t j = 0; j < kBlock; ++j) {
      found = static_cast<Bits>(found | ((bits[i + j] & exponent) == exponent ? 1 : 0));
    }
    if (found != 0) return true;
  }
  for (; i < count; ++i) {
    if ((bits[i] & exponent) == exponent) return true;
  }
  return false;
}

#if defined(__x86_64__)
template <class Bits>
__attribute__((target("avx2"))) bool search_avx2(const Bits* bits, int64_t count, Bits exponent) {
  return search(bits, count, exponent);
}
#endif

/// Uses AVX2 if the processor supports it.
template <class Bits>
bool any_exponent_full(const void* data, int64_t count, Bits exponent) {
  const auto* bits = static_cast<const Bits*>(data);
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return search_avx2(bits, count, exponent);
#endif
  return search(bits, count, exponent);
}

/// Tests the bits of the elements. Returns nothing for non-CPU and non-contiguous tensors.
std::optional<bool> all_finite_by_bits(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu() || !tensor.is_contiguous()) return std::nullopt;
  return all_finite(tensor.const_data_ptr(), tensor.numel(), tensor.scalar_type());
}

/// Converts float8 types, which have no arithmetic, to float32.
at::Tensor widened(const at::Tensor& tensor) {
  return tensor.element_size() == 1 ? tensor.to(at::kFloat) : tensor;
}

}  // namespace

std::optional<bool> all_finite(const void* data, int64_t count, at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return !any_exponent_full<uint32_t>(data, count, 0x7F800000U);
    case at::kBFloat16:
      return !any_exponent_full<uint16_t>(data, count, 0x7F80U);
    case at::kHalf:
      return !any_exponent_full<uint16_t>(data, count, 0x7C00U);
    case at::kDouble:
      return !any_exponent_full<uint64_t>(data, count, 0x7FF0000000000000U);
    default:
      return std::nullopt;
  }
}

bool all_finite(const at::Tensor& tensor) {
  if (!tensor.is_floating_point() || tensor.numel() == 0) return true;
  const std::optional<bool> known = all_finite_by_bits(tensor);
  if (known) return *known;
  // The largest magnitude: a reduction, without a temporary as large as the tensor.
  return at::isfinite(at::linalg_vector_norm(widened(tensor), INFINITY)).item<bool>();
}

bool all_finite(const std::vector<at::Tensor>& tensors) {
  std::map<std::string, std::map<at::ScalarType, std::vector<at::Tensor>>> on_devices;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.device().is_cpu()) {
      if (!all_finite(tensor)) return false;
    } else if (tensor.is_floating_point() && tensor.numel() > 0) {
      const at::Tensor wide = widened(tensor);
      on_devices[tensor.device().str()][wide.scalar_type()].push_back(wide);
    }
  }
  return std::all_of(on_devices.begin(), on_devices.end(), [](const auto& entry) {
    std::vector<at::Tensor> largest;
    for (const auto& [type, some] : entry.second) {
      for (const at::Tensor& one : at::_foreach_norm(some, INFINITY)) {
        largest.push_back(one.to(at::kDouble));
      }
    }
    return at::isfinite(at::stack(largest)).all().template item<bool>();
  });
}

std::optional<NotFinite> find_not_finite(const at::Tensor& tensor) {
  if (all_finite(tensor)) return std::nullopt;
  const at::Tensor value = widened(tensor);
  const at::Tensor is_bad = at::isfinite(value).logical_not_();
  const auto first = is_bad.flatten().to(at::kByte).argmax().item<int64_t>();
  NotFinite found{coordinates(is_bad.sizes().vec(), first), 0};
  at::Tensor element = value;
  for (const int64_t i : found.index) element = element.select(0, i);
  found.value = element.to(at::kDouble).item<double>();
  return found;
}

void check_finite(const std::string& source, const std::string& name, const at::Tensor& tensor) {
  const std::optional<NotFinite> bad = find_not_finite(tensor);
  if (bad) throw weights_errors::not_finite(source, name, bad->index, bad->value);
}

}  // namespace s2s
