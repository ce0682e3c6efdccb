#pragma once

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include "base/accelerator.h"

namespace s2s::test {

/// GPUs of this machine. The CUDA half of LibTorch is opened for it.
inline int num_gpus() {
  std::string why;
  return open_accelerator(why) == at::kCUDA ? at::accelerator::deviceCount() : 0;
}

}  // namespace s2s::test
