#include "run/numerics.h"

#include <ATen/Context.h>

#include <cstdlib>

namespace s2s {

void set_numerics(const TrainerBlock& trainer) {
  at::Context& torch = at::globalContext();
  // LibTorch's own default is TF32 for convolutions and float32 for products.
  const bool is_high = trainer.float32_matmul == "high";
  torch.setFloat32MatmulPrecision(trainer.float32_matmul);
  torch.setAllowTF32CuDNN(is_high);
  // cuDNN's attention builds a plan for each new shape, and batches of audio have many. Not yet
  // measured on a GPU against flash attention, which comes next in LibTorch's order.
  torch.setSDPUseCuDNN(false);
  if (!trainer.deterministic) return;
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);  // what cuBLAS wants for it
  torch.setDeterministicAlgorithms(true, /*warn_only=*/false);
  torch.setDeterministicFillUninitializedMemory(false);
  torch.setDeterministicCuDNN(true);
}

}  // namespace s2s
