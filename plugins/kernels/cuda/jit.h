#pragma once
// Compiles and loads the kernels of this process.

#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cubin_cache.h"
#include "nvrtc_compiler.h"

namespace s2s::cuda {

/// A file and the macros that it is compiled with.
struct KernelSource {
  std::string file;  // cuda_source's name
  std::vector<std::string> macros;
};

struct Launch {
  int64_t blocks = 1;
  int64_t threads_x = 1;
  int64_t threads_y = 1;
};

/// Thread-safe: the backward runs on LibTorch's threads.
class Jit {
 public:
  Jit(std::unique_ptr<Nvrtc> nvrtc, CubinCache cache, std::function<void(const std::string&)> warn);

  /// Returns the kernel for the current device. If it cannot be compiled, warns once and returns
  /// null.
  cudaKernel_t kernel(const KernelSource& source, const char* name);

 private:
  cudaLibrary_t library(const KernelSource& source, const std::string& architecture);
  std::string cubin(const KernelSource& source, const std::string& architecture);

  std::unique_ptr<Nvrtc> nvrtc_;
  CubinCache cache_;
  std::function<void(const std::string&)> warn_;
  std::mutex mutex_;
  std::map<std::string, cudaLibrary_t> libraries_;  // null: it was tried
};

/// Launches on the current stream of the current device. args: pointers to the arguments.
void launch(cudaKernel_t kernel, const Launch& where, void** args);

}  // namespace s2s::cuda
