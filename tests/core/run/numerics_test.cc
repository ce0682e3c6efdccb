// What trainer.deterministic and trainer.float32_matmul set in LibTorch, for the whole process.

#include "run/numerics.h"

#include <ATen/Context.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace {

/// LibTorch's own settings again, for the tests that follow.
struct Restored {
  ~Restored() {
    at::Context& torch = at::globalContext();
    torch.setDeterministicAlgorithms(false, false);
    torch.setDeterministicFillUninitializedMemory(true);
    torch.setDeterministicCuDNN(false);
    s2s::set_numerics({});
    unsetenv("CUBLAS_WORKSPACE_CONFIG");
  }
};

}  // namespace

TEST_CASE("float32 on a GPU is float32 unless TensorFloat-32 is asked for") {
  const Restored restored;
  const at::Context& torch = at::globalContext();
  s2s::TrainerBlock trainer;
  s2s::set_numerics(trainer);
  CHECK_FALSE(torch.allowTF32CuDNN());
  CHECK_FALSE(torch.allowTF32CuBLAS());
  trainer.float32_matmul = "high";
  s2s::set_numerics(trainer);
  CHECK(torch.allowTF32CuDNN());
  CHECK(torch.allowTF32CuBLAS());
}

TEST_CASE("deterministic asks LibTorch and cuBLAS for deterministic algorithms") {
  const Restored restored;
  const at::Context& torch = at::globalContext();
  unsetenv("CUBLAS_WORKSPACE_CONFIG");
  s2s::TrainerBlock trainer;
  s2s::set_numerics(trainer);
  CHECK_FALSE(torch.deterministicAlgorithms());
  CHECK(getenv("CUBLAS_WORKSPACE_CONFIG") == nullptr);
  trainer.deterministic = true;
  s2s::set_numerics(trainer);
  CHECK(torch.deterministicAlgorithms());
  CHECK(torch.deterministicCuDNN());
  REQUIRE(getenv("CUBLAS_WORKSPACE_CONFIG") != nullptr);
  CHECK(std::string(getenv("CUBLAS_WORKSPACE_CONFIG")) == ":4096:8");
}
