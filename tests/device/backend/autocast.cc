// Autocast of the test device: the lists that CUDA has.

#include <ATen/autocast_mode.h>

// LibTorch's lists name its types without their name space.
namespace at {
namespace {

#define S2S_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define S2S_FLOAT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define S2S_FLOAT_RESULT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define S2S_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(S2S_LOWER)
  AT_FORALL_FP32(S2S_FLOAT)
  AT_FORALL_FP32_SET_OPT_DTYPE(S2S_FLOAT_RESULT)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(S2S_PROMOTE)
}

}  // namespace
}  // namespace at
