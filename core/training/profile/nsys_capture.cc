#include "profile/nsys_capture.h"

#include <dlfcn.h>

namespace s2s::run {
namespace {

/// A function of the CUDA runtime, if one is loaded.
void* runtime_function(const char* name) {
  if (void* const function = dlsym(RTLD_DEFAULT, name)) return function;
  for (const char* const library : {"libcudart.so.13", "libcudart.so.12", "libcudart.so"}) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* const function = dlsym(handle, name);
    dlclose(handle);  // LibTorch keeps it
    if (function != nullptr) return function;
  }
  return nullptr;
}

}  // namespace

std::string switch_cuda_profiler(bool on) {
  void* const function = runtime_function(on ? "cudaProfilerStart" : "cudaProfilerStop");
  if (function == nullptr) return "no CUDA runtime (libcudart) is loaded";
  const int code = reinterpret_cast<int (*)()>(function)();
  return code == 0 ? "" : "CUDA error " + std::to_string(code);
}

}  // namespace s2s::run
