// NVRTC and nvcc compile the kernels without a GPU: registers and spills are the assembler's words.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "cubin_cache.h"
#include "gated_plan.h"
#include "norm_plan.h"
#include "nvrtc_compiler.h"
#include "rotation_plan.h"
#include "sources.h"

namespace {

using s2s::cuda::CubinCache;
using s2s::cuda::GatedCase;
using s2s::cuda::NormCase;
using s2s::cuda::Nvrtc;
using s2s::cuda::RotationCase;

constexpr const char* kRegisters = "Used ([0-9]+) registers";
constexpr int kMostRegisters = 64;  // a multiprocessor then has 1024 threads at least

/// One way to compile a file.
struct KernelCase {
  std::string name, file;
  std::vector<std::string> macros;
  size_t kernels = 1;  // in the file
};

KernelCase norm_case(const std::string& name, const NormCase& norm) {
  return {"norm " + name, "add_rms_norm.cu",
          s2s::cuda::norm_macros(norm, s2s::cuda::plan_norm(norm).value()), 2};
}

KernelCase gated_case(const std::string& name, const GatedCase& gated) {
  return {"gated " + name, "gated.cu",
          s2s::cuda::gated_macros(gated, s2s::cuda::plan_gated(gated).value()), 2};
}

KernelCase rotation_case(const std::string& name, const RotationCase& rotation) {
  return {"rotation " + name, "rotation.cu",
          s2s::cuda::rotation_macros(rotation, s2s::cuda::plan_rotation(rotation).value())};
}

/// What models of 1.1, 8 and 27 billion parameters need, and odd sizes.
std::vector<KernelCase> kernel_cases() {
  return {
      norm_case("2048 bfloat16", {2048, at::kBFloat16, true}),
      norm_case("4096 bfloat16", {4096, at::kBFloat16, true}),
      norm_case("4096 bfloat16, 1 + w", {4096, at::kBFloat16, true, true}),
      norm_case("4096 float16", {4096, at::kHalf, true}),
      norm_case("8192 bfloat16", {8192, at::kBFloat16, true}),
      norm_case("128 bfloat16", {128, at::kBFloat16}),
      norm_case("4096 float32", {4096, at::kFloat, true}),
      norm_case("70 bfloat16", {70, at::kBFloat16}),
      norm_case("16384 bfloat16", {16384, at::kBFloat16, true}),
      norm_case("2048 float32 + bfloat16", {2048, at::kFloat, true, false, true, at::kBFloat16}),
      norm_case("128 bfloat16, float32 weight",
                {128, at::kBFloat16, false, false, true, {}, at::kFloat}),
      gated_case("5632 bfloat16", {5632, at::kBFloat16}),
      gated_case("14336 bfloat16", {14336, at::kBFloat16}),
      gated_case("21504 bfloat16, GELU", {21504, at::kBFloat16, false}),
      gated_case("5632 float32", {5632, at::kFloat}),
      gated_case("37 float16", {37, at::kHalf}),
      rotation_case("32 + 4 of 64 bfloat16", {64, at::kBFloat16, 32, 4}),
      rotation_case("32 + 4 + 4 of 64 bfloat16", {64, at::kBFloat16, 32, 4, 4}),
      rotation_case("32 + 8 + 8 of 128 bfloat16", {128, at::kBFloat16, 32, 8, 8}),
      rotation_case("32 + 16 of 128 float32", {128, at::kFloat, 32, 16}),
      rotation_case("5 + 1 of 6 float16", {6, at::kHalf, 5, 1}),
  };
}

/// One of each kernel: nvcc takes seconds for each file.
std::vector<KernelCase> nvcc_cases() {
  return {
      norm_case("2048 float32 + bfloat16", {2048, at::kFloat, true, false, true, at::kBFloat16}),
      gated_case("14336 bfloat16", {14336, at::kBFloat16}),
      rotation_case("32 + 8 + 8 of 128 bfloat16", {128, at::kBFloat16, 32, 8, 8})};
}

/// All numbers before or after certain words of the log, one of each kernel.
std::vector<int> numbers(const std::string& log, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<int> found;
  for (std::sregex_iterator it(log.begin(), log.end(), expression), end; it != end; ++it) {
    found.push_back(std::stoi((*it)[1].str()));
  }
  return found;
}

std::string joined(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

/// The assembler's words about each kernel of a file.
void check_log(const std::string& log, const KernelCase& one) {
  const auto registers = numbers(log, kRegisters);
  REQUIRE_MESSAGE(registers.size() == one.kernels, log);
  for (const int count : registers) CHECK(count <= kMostRegisters);
  const auto spills = numbers(log, "([0-9]+) bytes spill (?:stores|loads)");
  REQUIRE(spills.size() == 2 * one.kernels);
  for (const int bytes : spills) CHECK(bytes == 0);
  for (const int bytes : numbers(log, "([0-9]+) bytes stack frame")) CHECK(bytes == 0);
}

/// "" without one.
std::string find_nvcc() {
  const char* const home = std::getenv("CUDA_HOME");
  for (const std::string& folder :
       {std::string(home != nullptr ? home : "/usr/local/cuda") + "/bin/",
        std::string("/usr/bin/")}) {
    if (std::filesystem::exists(folder + "nvcc")) return folder + "nvcc";
  }
  return "";
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part{};
  for (size_t count; (count = ::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    text.append(part.data(), count);
  }
  const int status = ::pclose(pipe);
  CHECK_MESSAGE(status == 0, text);
  return text;
}

std::unique_ptr<Nvrtc> open_or_say() {
  std::string why;
  auto nvrtc = Nvrtc::open(why);
  if (nvrtc == nullptr) MESSAGE("skipped: NVRTC cannot be opened: ", why);
  return nvrtc;
}

}  // namespace

TEST_CASE("NVRTC compiles all kernels for three architectures without spills") {
  const auto nvrtc = open_or_say();
  if (nvrtc == nullptr) return;
  for (const char* architecture : {"sm_80", "sm_90a", "sm_100a"}) {
    for (const KernelCase& one : kernel_cases()) {
      CAPTURE(architecture);
      CAPTURE(one.name);
      const auto compiled =
          nvrtc->compile(s2s::cuda::kernel_text(one.file), architecture, one.macros);
      CHECK(compiled.cubin.substr(1, 3) == "ELF");
      check_log(compiled.log, one);
      std::cout << architecture << " " << one.name << ": registers "
                << joined(numbers(compiled.log, kRegisters)) << ", cubin " << compiled.cubin.size()
                << " bytes\n";
    }
  }
}

TEST_CASE("nvcc compiles all kernels for three architectures without spills") {
  const std::string nvcc = find_nvcc();
  if (nvcc.empty()) {
    MESSAGE("skipped: no nvcc in CUDA_HOME or its usual places");
    return;
  }
  const s2s::test::TemporaryFolder folder;
  const std::string kernels = s2s::test::source_dir() + "/plugins/kernels/cuda/";
  for (const KernelCase& one : nvcc_cases()) {
    CAPTURE(one.name);
    std::string command = nvcc + " -cubin -std=c++17 -Xptxas -v -o " + (folder / "out.cubin");
    for (const std::string& macro : one.macros) command += " " + macro;
    for (const char* architecture : {"sm_80", "sm_90a", "sm_100a"}) {
      CAPTURE(architecture);
      const std::string log =
          output_of(command + " -arch=" + architecture + " " + kernels + one.file + " 2>&1");
      check_log(log, one);
      std::cout << "nvcc " << architecture << " " << one.name << ": registers "
                << joined(numbers(log, kRegisters)) << "\n";
    }
  }
}

TEST_CASE("an error in a kernel has the compiler's message") {
  const auto nvrtc = open_or_say();
  if (nvrtc == nullptr) return;
  try {
    nvrtc->compile("__global__ void f() { no_such_name(); }", "sm_90a", {});
    FAIL("it compiled");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()).find("no_such_name") != std::string::npos);
  }
}

TEST_CASE("architectures have the suffix of the exact device from 9.0 on") {
  CHECK(s2s::cuda::architecture_name(8, 0) == "sm_80");
  CHECK(s2s::cuda::architecture_name(8, 9) == "sm_89");
  CHECK(s2s::cuda::architecture_name(9, 0) == "sm_90a");
  CHECK(s2s::cuda::architecture_name(10, 0) == "sm_100a");
}

TEST_CASE("a compiled kernel is kept, and a damaged file is none") {
  const s2s::test::TemporaryFolder folder;
  const CubinCache cache(folder / "below/kernels");
  CHECK_FALSE(cache.find("key").has_value());
  cache.keep("key", "the cubin");
  CHECK(cache.find("key") == "the cubin");
  CHECK_FALSE(cache.find("another key").has_value());
  std::ofstream(cache.path("key"), std::ios::app | std::ios::binary) << "!";
  CHECK_FALSE(cache.find("key").has_value());
  std::ofstream(cache.path("key"), std::ios::trunc) << "short";
  CHECK_FALSE(cache.find("key").has_value());

  CubinCache("").keep("key", "nowhere");
  CubinCache("/proc/no/such").keep("key", "nowhere");  // not an error
  CHECK_FALSE(CubinCache("/proc/no/such").find("key").has_value());
}
