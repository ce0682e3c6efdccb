// NVRTC compiles the kernels without a GPU: registers and spills are its assembler's words.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <fstream>
#include <iostream>
#include <regex>

#include "common/temporary_folder.h"
#include "cubin_cache.h"
#include "norm_plan.h"
#include "nvrtc_compiler.h"
#include "sources.h"

namespace {

using s2s::cuda::CubinCache;
using s2s::cuda::NormCase;
using s2s::cuda::Nvrtc;

/// All numbers in front of or behind certain words of the log, one of each kernel.
std::vector<int> numbers(const std::string& log, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<int> found;
  for (std::sregex_iterator it(log.begin(), log.end(), expression), end; it != end; ++it) {
    found.push_back(std::stoi((*it)[1].str()));
  }
  return found;
}

std::unique_ptr<Nvrtc> open_or_say() {
  std::string why;
  auto nvrtc = Nvrtc::open(why);
  if (nvrtc == nullptr) MESSAGE("skipped: NVRTC cannot be opened: ", why);
  return nvrtc;
}

}  // namespace

TEST_CASE("the norm's kernels compile for three architectures without spills") {
  const auto nvrtc = open_or_say();
  if (nvrtc == nullptr) return;
  const std::string source(s2s::cuda_source("add_rms_norm.cu"));
  for (const char* architecture : {"sm_80", "sm_90a", "sm_100a"}) {
    for (const NormCase& norm :
         {NormCase{2048, at::kBFloat16, true}, NormCase{4096, at::kBFloat16, true},
          NormCase{4096, at::kBFloat16, true, true}, NormCase{4096, at::kHalf, true},
          NormCase{8192, at::kBFloat16, true}, NormCase{128, at::kBFloat16},
          NormCase{4096, at::kFloat, true}, NormCase{70, at::kBFloat16},
          NormCase{16384, at::kBFloat16, true}}) {
      CAPTURE(architecture);
      CAPTURE(norm.dim);
      const auto plan = s2s::cuda::plan_norm(norm).value();
      const auto compiled =
          nvrtc->compile(source, architecture, s2s::cuda::norm_macros(norm, plan));
      CHECK(compiled.cubin.substr(1, 3) == "ELF");
      const auto registers = numbers(compiled.log, "Used ([0-9]+) registers");
      REQUIRE_MESSAGE(registers.size() == 2, compiled.log);
      // A block of 1024 threads has 64 for each.
      const int most = norm.dim > 8192 ? 64 : 63;
      for (const int count : registers) CHECK(count <= most);
      const auto spills = numbers(compiled.log, "([0-9]+) bytes spill (?:stores|loads)");
      REQUIRE(spills.size() == 4);
      for (const int bytes : spills) CHECK(bytes == 0);
      std::cout << architecture << " dim " << norm.dim << " " << c10::toString(norm.type)
                << (norm.adds_one ? " 1 + w" : "") << ": registers " << registers[0] << ", "
                << registers[1] << ", cubin " << compiled.cubin.size() << " bytes\n";
    }
  }
}

TEST_CASE("a mistake in a kernel is told in the compiler's words") {
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
