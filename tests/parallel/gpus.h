#pragma once

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>

namespace s2s::test {

/// GPUs of this machine. The CUDA half of LibTorch is opened for it.
inline int num_gpus() {
  if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) return 0;
  return at::detail::getCUDAHooks().getNumGPUs();
}

}  // namespace s2s::test
