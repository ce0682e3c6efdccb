#include "jit.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include <stdexcept>

#include "sources.h"

namespace s2s::cuda {
namespace {

std::string current_architecture() {
  int device = 0;
  int major = 0;
  int minor = 0;
  C10_CUDA_CHECK(cudaGetDevice(&device));
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return architecture_name(major, minor);
}

std::string joined(const KernelSource& source, const std::string& architecture) {
  std::string all = architecture + " " + source.file;
  for (const std::string& macro : source.macros) all += " " + macro;
  return all;
}

}  // namespace

Jit::Jit(std::unique_ptr<Nvrtc> nvrtc, CubinCache cache,
         std::function<void(const std::string&)> warn)
    : nvrtc_(std::move(nvrtc)), cache_(std::move(cache)), warn_(std::move(warn)) {}

std::string Jit::cubin(const KernelSource& source, const std::string& architecture) {
  const std::string text = kernel_text(source.file);
  const std::string key =
      joined(source, architecture) + "\nnvrtc " + nvrtc_->version() + "\n" + text;
  if (auto found = cache_.find(key)) return std::move(*found);
  std::string made = nvrtc_->compile(text, architecture, source.macros).cubin;
  cache_.keep(key, made);
  return made;
}

cudaLibrary_t Jit::library(const KernelSource& source, const std::string& architecture) {
  const auto [entry, is_new] = libraries_.try_emplace(joined(source, architecture), nullptr);
  if (!is_new) return entry->second;
  try {
    const std::string code = cubin(source, architecture);
    C10_CUDA_CHECK(
        cudaLibraryLoadData(&entry->second, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  } catch (const std::exception& error) {
    entry->second = nullptr;
    if (warn_) {
      warn_("the kernel " + source.file + " cannot be made for " + architecture +
            "; plain formulas compute the same, slower: " + error.what());
    }
  }
  return entry->second;
}

cudaKernel_t Jit::kernel(const KernelSource& source, const char* name) {
  const std::lock_guard lock(mutex_);
  cudaLibrary_t const found = library(source, current_architecture());
  if (found == nullptr) return nullptr;
  cudaKernel_t kernel = nullptr;
  C10_CUDA_CHECK(cudaLibraryGetKernel(&kernel, found, name));
  return kernel;
}

void launch(cudaKernel_t kernel, const Launch& where, void** args) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(where.blocks));
  config.blockDim =
      dim3(static_cast<unsigned>(where.threads_x), static_cast<unsigned>(where.threads_y));
  config.stream = c10::cuda::getCurrentCUDAStream();
  C10_CUDA_CHECK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), args));
}

}  // namespace s2s::cuda
