#pragma once

#include <ATen/core/Tensor.h>

#include <cstdlib>
#include <stdexcept>

#include "base/accelerator.h"

namespace s2s::test {

/// Where tests of operators compute: on the CPU, or on the device of S2S_DEVICE_LIBRARY
/// (core/docs/internals/test_device.md).
inline at::Device device() {
  static const at::Device chosen = [] {
    if (std::getenv("S2S_DEVICE_LIBRARY") == nullptr) return at::Device(at::kCPU);
    std::string why;
    const auto type = open_accelerator(why);
    if (!type) throw std::runtime_error(why);
    return at::Device(*type, 0);
  }();
  return chosen;
}

inline at::TensorOptions on_device(at::ScalarType dtype) {
  return at::TensorOptions(dtype).device(device());
}

}  // namespace s2s::test
