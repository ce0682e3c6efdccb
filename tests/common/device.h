#pragma once

#include <ATen/core/Tensor.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "base/accelerator.h"

namespace s2s::test {

/// Prints, once for the process, on which device its tests compute: tests/gpu/report.py fails a
/// program that was meant for a device and does not say so.
inline void say_device(at::Device device) {
  [[maybe_unused]] static const bool said = [&] {
    std::printf("tests run on: %s\n", device.str().c_str());
    return std::fflush(stdout) == 0;
  }();
}

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
  say_device(chosen);
  return chosen;
}

/// Opened before the first test: LibTorch remembers that there is no GPU if a seed or a backward
/// pass asks for one earlier (base/accelerator.h), and many tests begin with a seed.
inline const bool is_opened_first = [] {
  std::string why;  // `device` tells it to the tests
  return std::getenv("S2S_DEVICE_LIBRARY") != nullptr && open_accelerator(why).has_value();
}();

inline at::TensorOptions on_device(at::ScalarType dtype) {
  return at::TensorOptions(dtype).device(device());
}

}  // namespace s2s::test
