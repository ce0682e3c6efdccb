#pragma once
// The test device, opened as a run opens it.

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/accelerator.h"
#include "common/places.h"

namespace s2s::test {

inline std::string device_library() { return binary_dir() + "/lib/libs2s_test_device.so"; }

inline at::Device test_device() {
  ::setenv("S2S_DEVICE_LIBRARY", device_library().c_str(), 1);
  std::string why;
  REQUIRE_MESSAGE((open_accelerator(why) == at::kPrivateUse1), why);
  return {at::kPrivateUse1, 0};
}

/// How often the host has waited for the device.
inline int64_t host_waits() {
  test_device();
  void* const count = ::dlsym(RTLD_DEFAULT, "s2s_test_device_host_waits");
  REQUIRE(count != nullptr);
  return reinterpret_cast<int64_t (*)()>(count)();
}

}  // namespace s2s::test
