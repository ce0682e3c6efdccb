// The graphs of kernels:cuda on LibTorch's own CUDA code, without a GPU: CUDA's runtime is a
// stand-in (stand_in_cuda). What is checked is what the host counts.

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <doctest/doctest.h>

#include <cstdlib>

#include "base/accelerator.h"
#include "device/stand_in_cuda/stand_in_cuda.h"
#include "nn/operators.h"
#include "plugins/built_plugins.h"
#include "s2s/error.h"
#include "s2s/nn/device_graph.h"

namespace {

using namespace s2s;

const at::Device kGpu(at::kCUDA, 0);

/// The plugin's kernels, with LibTorch's CUDA half on the stand-in.
class Kernels {
 public:
  Kernels() {
    ::setenv("S2S_DEVICE_LIBRARY", "libtorch_cuda.so", 1);
    std::string why;
    REQUIRE_MESSAGE((open_accelerator(why) == at::kCUDA), why);
    BuildContext context;
    context.registries = &plugins_.registries();
    context.warn = [this](const std::string& message) { said.push_back(message); };
    kernels_ = make_device_kernels(at::kCUDA, context);
    REQUIRE(kernels_ != nullptr);
  }
  static std::unique_ptr<DeviceGraph> graph() {
    auto graph = make_device_graph(kGpu);
    REQUIRE(graph != nullptr);
    return graph;
  }

  std::vector<std::string> said;

 private:
  test::BuiltPlugins plugins_;
  std::unique_ptr<DeviceKernels> kernels_;
};

at::Generator new_generator() {
  at::Generator generator =
      at::globalContext().getAcceleratorHooksInterface(at::kCUDA).getNewGenerator(0);
  generator.set_current_seed(3);
  return generator;
}

at::Generator default_generator() { return at::globalContext().defaultGenerator(kGpu); }

at::Tensor draw(const std::optional<at::Generator>& generator = std::nullopt) {
  return at::rand({8}, generator, at::TensorOptions(kGpu));
}

/// How far one draw moves a generator.
uint64_t offset_of_draw() {
  const at::Generator generator = new_generator();
  draw(generator);
  return generator.get_offset();
}

struct Memory {
  int64_t allocated, reserved;
  bool operator==(const Memory&) const = default;
};

Memory memory() {
  const auto stats = at::accelerator::getDeviceStats(0);
  return {stats.allocated_bytes[0].current, stats.reserved_bytes[0].current};
}

/// A recording that fails in `function` of CUDA's runtime, or in the work when there is none.
void record_failing(Kernels& kernels, const char* function, const at::Generator& generator) {
  const size_t warnings = kernels.said.size();
  const auto graph = Kernels::graph();
  if (function != nullptr) stand_in::fail(function);
  CHECK_FALSE(graph->record(
      [&] {
        draw(generator);
        draw();
        const at::Tensor x = at::ones({1000, 1000}, kGpu);
        if (function == nullptr) x.sum().item<float>();  // waits
      },
      {generator}));
  REQUIRE(kernels.said.size() == warnings + 1);
  CHECK(kernels.said.back().find("cannot repeat this work as a graph") != std::string::npos);
}

constexpr std::initializer_list<const char*> kFailures = {
    nullptr, "cudaStreamEndCapture", "cudaStreamBeginCapture", "cudaGraphGetNodes",
    "cudaGraphInstantiateWithFlags"};

}  // namespace

TEST_CASE("a graph's draws go on where the ones before ended, with each replay") {
  Kernels kernels;
  const uint64_t step = offset_of_draw();
  REQUIRE(step > 0);
  const at::Generator generator = new_generator();
  const auto graph = Kernels::graph();
  at::Tensor drawn;
  REQUIRE(graph->record([&] { drawn = draw(generator); }, {generator}));
  CHECK(generator.get_offset() == 0);
  const auto before = stand_in::counts();
  for (uint64_t i = 1; i <= 3; ++i) {
    graph->replay();
    CHECK(generator.get_offset() == i * step);
  }
  CHECK(stand_in::counts().graph_launches == before.graph_launches + 3);
  draw(generator);
  CHECK(generator.get_offset() == 4 * step);
  CHECK(kernels.said.empty());
}

TEST_CASE("after a recording that failed generators draw as if nothing had been recorded") {
  Kernels kernels;
  const uint64_t step = offset_of_draw();
  for (const char* function : kFailures) {
    CAPTURE(function);
    const at::Generator generator = new_generator();
    draw(generator);
    const uint64_t at_default = default_generator().get_offset();
    record_failing(kernels, function, generator);
    CHECK(generator.get_offset() == step);
    CHECK(default_generator().get_offset() == at_default);
    CHECK_NOTHROW(draw(generator));
    CHECK_NOTHROW(draw());
    CHECK(generator.get_offset() == 2 * step);
    CHECK(default_generator().get_offset() == at_default + step);
    const auto again = Kernels::graph();
    at::Tensor drawn;
    REQUIRE(again->record([&] { drawn = draw(generator); }, {generator}));
    again->replay();
    CHECK(generator.get_offset() == 3 * step);
  }
}

TEST_CASE("a graph recorded before one that failed goes on, with the same generator") {
  Kernels kernels;
  const uint64_t step = offset_of_draw();
  const at::Generator generator = new_generator();
  const auto graph = Kernels::graph();
  at::Tensor drawn;
  REQUIRE(graph->record([&] { drawn = draw(generator); }, {generator}));
  record_failing(kernels, "cudaStreamEndCapture", generator);
  graph->replay();
  CHECK(generator.get_offset() == step);
  draw(generator);
  graph->replay();
  CHECK(generator.get_offset() == 3 * step);
}

TEST_CASE("after a recording that failed the allocator has its memory back, and no graph is left") {
  Kernels kernels;
  const at::Generator generator = new_generator();
  draw(generator);
  draw();
  at::accelerator::emptyCache();
  const Memory before = memory();
  const int64_t bytes = stand_in::device_bytes(), graphs = stand_in::living_graphs();
  for (const char* function : kFailures) {
    CAPTURE(function);
    record_failing(kernels, function, generator);
    at::accelerator::emptyCache();
    CHECK((memory() == before));
    CHECK(stand_in::device_bytes() == bytes);
    CHECK(stand_in::living_graphs() == graphs);
  }
  at::empty({1 << 20}, kGpu);
  const int64_t cached = stand_in::device_bytes();
  for (int i = 0; i < 3; ++i) at::empty({1 << 20}, kGpu);
  CHECK(stand_in::device_bytes() == cached);
  CHECK(at::empty({100}).pin_memory().is_pinned());  // of no graph's pool
}

TEST_CASE("what the work throws is thrown, and the device goes on") {
  Kernels kernels;
  const uint64_t step = offset_of_draw();
  const at::Generator generator = new_generator();
  const auto graph = Kernels::graph();
  const auto work = [&] {
    draw(generator);
    throw Error(ExitCode::kUsage, "test/work", "");
  };
  CHECK_THROWS_AS(graph->record(work, {generator}), Error);
  draw(generator);
  CHECK(generator.get_offset() == step);
  CHECK(kernels.said.empty());
}

TEST_CASE("all recordings of a device use one stream, and no workspace of cuBLAS stays") {
  Kernels kernels;
  draw();  // the default generator has its state
  const at::Tensor x = at::ones({64, 64}, kGpu);
  const auto record = [&] {
    auto graph = Kernels::graph();
    REQUIRE(graph->record([&] { at::mm(x, x); }, {}));
    return graph;
  };
  at::accelerator::emptyCache();
  const Memory before = memory();
  const auto counts = stand_in::counts();
  for (int i = 0; i < 40; ++i) record()->replay();
  CHECK(stand_in::counts().products == counts.products + 40);
  CHECK(stand_in::counts().recordings == counts.recordings + 40);
  CHECK(stand_in::counts().recording_streams == 1);
  at::accelerator::emptyCache();
  CHECK((memory() == before));
}
