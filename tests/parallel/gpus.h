#pragma once

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include "base/accelerator.h"
#include "common/device.h"

namespace s2s::test {

/// GPUs of this machine. The CUDA half of LibTorch is opened for it.
inline int num_gpus() {
  std::string why;
  if (open_accelerator(why) != at::kCUDA) return 0;
  say_device({at::kCUDA, 0});
  return at::accelerator::deviceCount();
}

}  // namespace s2s::test
