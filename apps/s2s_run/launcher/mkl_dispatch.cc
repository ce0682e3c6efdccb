// LibTorch's matrix products come from MKL, which asks these two functions for the processor's
// maker and gives the others kernels for 256-bit vectors even where they have 512-bit ones. The
// answers of an executable come before those of the libraries it loads: here every x86 processor
// gets the kernels that its own instruction set allows. Decision record 0007 has the measurement.

#include <cstdlib>
#include <cstring>

namespace {

/// S2S_MKL_DISPATCH=vendor leaves the choice to MKL, as far as it can be told: AMD and others.
int by_instruction_set() {
  const char* const wish = std::getenv("S2S_MKL_DISPATCH");
  return wish != nullptr && std::strcmp(wish, "vendor") == 0 ? 0 : 1;
}

}  // namespace

extern "C" {
// MKL's names. They must be visible in the executable's dynamic symbols; see CMakeLists.txt.
__attribute__((visibility("default"))) int mkl_serv_intel_cpu_true() {
  return by_instruction_set();
}
__attribute__((visibility("default"))) int mkl_serv_intel_cpu() { return by_instruction_set(); }
}
