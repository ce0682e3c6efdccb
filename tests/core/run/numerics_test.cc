// What trainer.deterministic, trainer.float32_matmul and trainer.attention set in LibTorch, for the
// whole process.

#include "run/numerics.h"

#include <ATen/Context.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

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

TEST_CASE("trainer.attention=math leaves LibTorch the plain formula only, cuDNN is always off") {
  const Restored restored;
  const at::Context& torch = at::globalContext();
  s2s::TrainerBlock trainer;
  for (const char* name : {"math", "cudnn", "flash", "auto"}) {
    CAPTURE(name);
    trainer.attention = name;
    s2s::set_numerics(trainer);
    const bool is_math = trainer.attention == "math";
    CHECK(torch.userEnabledFlashSDP() != is_math);
    CHECK(torch.userEnabledMemEfficientSDP() != is_math);
    CHECK(torch.userEnabledMathSDP());
    CHECK_FALSE(torch.userEnabledCuDNNSDP());  // on only within a call that chooses it
  }
}

TEST_CASE("a precision that this processor computes slowly is warned of, float32 never") {
  std::vector<std::string> said;
  s2s::Warnings warnings;
  warnings.send_to([&](const std::string& message) { said.push_back(message); });
  s2s::warn_of_slow_precision(s2s::parse_precision("32-true", ""), at::kCPU, warnings);
  s2s::warn_of_slow_precision(s2s::parse_precision("bf16-true", ""), {at::kCUDA, 0}, warnings);
  CHECK(said.empty());
  s2s::warn_of_slow_precision(s2s::parse_precision("bf16-mixed", ""), at::kCPU, warnings);
#if defined(__x86_64__)
  const bool is_fast = __builtin_cpu_supports("avx512bf16");
  CHECK(said.size() == (is_fast ? 0 : 1));
  for (const std::string& message : said) {
    CHECK(message.find("no products of bfloat16") != std::string::npos);
    CHECK(message.find("trainer.precision=32-true") != std::string::npos);
  }
#else
  CHECK(said.empty());
#endif
}
