#include "run/numerics.h"

#include <ATen/Context.h>

#include <cstdlib>
#include <string>

#include "nn/attention_choice.h"

namespace s2s {
namespace {

/// True if the CPU has instructions for products in this dtype. LibTorch's substitute takes twenty
/// times as long as float32 (core/docs/internals/benchmarks.md).
bool has_products(at::ScalarType type) {
#if defined(__x86_64__)
  return type == at::kHalf ? __builtin_cpu_supports("avx512fp16")
                           : __builtin_cpu_supports("avx512bf16");
#else
  return type == at::kBFloat16;
#endif
}

}  // namespace

void set_numerics(const TrainerBlock& trainer) {
  at::Context& torch = at::globalContext();
  // LibTorch's default is TF32 for convolutions and float32 for products.
  const bool is_high = trainer.float32_matmul == "high";
  torch.setFloat32MatmulPrecision(trainer.float32_matmul);
  torch.setAllowTF32CuDNN(is_high);
  set_attention(attention_backend(trainer.attention));
  if (!trainer.deterministic) return;
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);  // cuBLAS requires it
  torch.setDeterministicAlgorithms(true, /*warn_only=*/false);
  torch.setDeterministicFillUninitializedMemory(false);
  torch.setDeterministicCuDNN(true);
}

void warn_of_slow_precision(const Precision& precision, at::Device device, Warnings& warnings) {
  const at::ScalarType type = precision.autocast.value_or(precision.parameter_type);
  if (!device.is_cpu() || type == at::kFloat || has_products(type)) return;
  warnings.add(std::string("this processor has no products of ") +
               (type == at::kHalf ? "float16" : "bfloat16") +
               ", so steps may take many times as long as in float32; for speed set "
               "trainer.precision=32-true");
}

}  // namespace s2s
