// LibTorch's matrix products come from MKL. MKL calls these two functions to check for an Intel
// CPU. On other CPUs it uses 256-bit kernels, even if they support 512-bit vectors. Functions of
// the executable override those of the libraries that it loads: with these, every x86 CPU gets the
// kernels for its instruction set. Decision record 0007 has measurements.

#include <cstdlib>
#include <cstring>

namespace {

/// S2S_MKL_DISPATCH=vendor restores MKL's choice.
int by_instruction_set() {
  const char* const wish = std::getenv("S2S_MKL_DISPATCH");
  return wish != nullptr && std::strcmp(wish, "vendor") == 0 ? 0 : 1;
}

}  // namespace

extern "C" {
// MKL's function names. They must be in the executable's dynamic symbols; see CMakeLists.txt.
__attribute__((visibility("default"))) int mkl_serv_intel_cpu_true() {
  return by_instruction_set();
}
__attribute__((visibility("default"))) int mkl_serv_intel_cpu() { return by_instruction_set(); }
}
