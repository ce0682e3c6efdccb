// The plugin itself: what it registers, and on a GPU what its kernels compute.

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <doctest/doctest.h>

#include "nn/fused.h"
#include "nn/operators.h"
#include "parallel/gpus.h"
#include "plugins/built_plugins.h"
#include "s2s/nn/device_graph.h"

namespace {

using s2s::NormWeight;
using s2s::test::BuiltPlugins;

std::unique_ptr<s2s::DeviceKernels> make_kernels(BuiltPlugins& plugins,
                                                 std::vector<std::string>& said) {
  s2s::BuildContext context;
  context.registries = &plugins.registries();
  context.warn = [&](const std::string& message) { said.push_back(message); };
  return s2s::make_device_kernels(at::kCUDA, context);
}

bool has_cuda(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CUDA);
}

struct Case {
  std::vector<int64_t> sizes;
  at::ScalarType type;
  NormWeight kind = NormWeight::kFactor;
  int64_t offset = 0;  // elements in front of the first: rows that are not aligned
};

/// Leaves of one case, the same on every device.
std::vector<at::Tensor> leaves(const Case& c, at::Device device, at::ScalarType type) {
  at::manual_seed(7);
  std::vector<at::Tensor> out;
  const std::vector<int64_t> of_weight = {c.sizes.back()};
  for (const auto& sizes : {c.sizes, c.sizes, of_weight}) {
    const int64_t count = c10::multiply_integers(sizes);
    const at::Tensor drawn = at::randn({count + c.offset}).to(c.type).to(type).to(device);
    out.push_back(drawn.narrow(0, c.offset, count).reshape(sizes).detach().requires_grad_());
  }
  return out;
}

/// sum, normed, and the gradients of x, y and weight.
std::vector<at::Tensor> pass(const Case& c, at::Device device, at::ScalarType type) {
  const std::vector<at::Tensor> in = leaves(c, device, type);
  const at::Tensor a = at::randn(c.sizes).to(c.type).to(type).to(device);
  const at::Tensor b = at::randn(c.sizes).to(c.type).to(type).to(device);
  const auto [sum, normed] = s2s::add_rms_norm(in[0], in[1], in[2], 1e-5, c.kind);
  const at::Tensor alone = s2s::rms_norm(in[0], in[2], 1e-5, c.kind);
  (sum * a + normed * b + alone * a).sum().backward();
  return {sum.detach(), normed.detach(), alone.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
}

}  // namespace

TEST_CASE("the plugin registers its operators for as long as its object lives") {
  BuiltPlugins plugins;
  std::vector<std::string> said;
  const s2s::Operators& operators = s2s::operators();
  CHECK_FALSE(has_cuda(operators.add_rms_norm));
  auto kernels = make_kernels(plugins, said);
  REQUIRE(kernels != nullptr);
  if (kernels->operators().empty()) {
    MESSAGE("skipped: ", said.at(0));
    return;
  }
  CHECK(said.empty());
  CHECK(kernels->operators() == std::vector<std::string>{"rms_norm", "add_rms_norm"});
  CHECK(has_cuda(operators.rms_norm));
  CHECK(has_cuda(operators.rms_norm_backward));
  CHECK(has_cuda(operators.add_rms_norm));
  CHECK(has_cuda(operators.add_rms_norm_backward));
  const at::Device gpu(at::kCUDA, 0);
  CHECK(s2s::make_device_graph(gpu) != nullptr);
  kernels.reset();
  CHECK_FALSE(has_cuda(operators.add_rms_norm));
  CHECK(s2s::make_device_graph(gpu) == nullptr);
}

TEST_CASE("on a GPU a graph repeats work on the same memory, and its draws go on") {
  if (s2s::test::num_gpus() == 0) {
    MESSAGE("skipped: no GPU here");
    return;
  }
  BuiltPlugins plugins;
  std::vector<std::string> said;
  const auto kernels = make_kernels(plugins, said);
  const at::Device gpu(at::kCUDA, 0);
  const auto options = at::TensorOptions(gpu).dtype(at::kFloat);
  const auto new_generator = [&] {
    at::Generator generator =
        at::globalContext().getAcceleratorHooksInterface(at::kCUDA).getNewGenerator(0);
    generator.set_current_seed(3);
    return generator;
  };
  const at::Generator drawing = new_generator(), expected = new_generator();
  at::Tensor position = at::zeros({1}, options.dtype(at::kLong));
  at::Tensor memory = at::zeros({8, 4}, options), draws = at::zeros({4}, options);
  const auto work = [&] {
    draws.copy_(at::rand({4}, drawing, options));
    memory.index_copy_(0, position, draws.unsqueeze(0));
    position.add_(1);
  };
  const auto graph = s2s::make_device_graph(gpu);
  REQUIRE(graph->record(work, {drawing}));
  CHECK(position.item<int64_t>() == 0);  // recorded, not run
  for (int64_t i = 0; i < 8; ++i) {
    graph->replay();
    CHECK(position.item<int64_t>() == i + 1);
    CHECK(memory[i].equal(at::rand({4}, expected, options)));
  }
  const auto waiting = s2s::make_device_graph(gpu);
  CHECK_FALSE(waiting->record([&] { position.item<int64_t>(); }, {}));
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("cannot repeat this work as a graph") != std::string::npos);
  CHECK((memory + 1).sum().item<float>() > 0);  // the GPU goes on
}

TEST_CASE("on a GPU the kernels equal float64, forward and backward") {
  if (s2s::test::num_gpus() == 0) {
    MESSAGE("skipped: no GPU here");
    return;
  }
  BuiltPlugins plugins;
  std::vector<std::string> said;
  const auto kernels = make_kernels(plugins, said);
  REQUIRE_FALSE(kernels->operators().empty());
  constexpr auto kAdded = NormWeight::kAddedToOne;
  for (const Case& c :
       {Case{{2, 37, 2048}, at::kBFloat16}, Case{{1, 1, 4096}, at::kBFloat16},
        Case{{3, 700, 512}, at::kFloat, kAdded}, Case{{5, 7, 128}, at::kHalf},
        Case{{4, 9, 2304}, at::kBFloat16, kAdded}, Case{{33, 70}, at::kFloat},
        Case{{19, 16384}, at::kBFloat16}, Case{{6, 1024}, at::kBFloat16, NormWeight::kFactor, 3},
        Case{{3, 40000}, at::kFloat}}) {  // the last one has no kernel
    CAPTURE(c.sizes.back());
    CAPTURE(c10::toString(c.type));
    const auto ours = pass(c, at::kCUDA, c.type);
    const auto exact = pass(c, at::kCPU, at::kDouble);
    const double tolerance = c.type == at::kFloat ? 1e-5 : c.type == at::kHalf ? 5e-3 : 4e-2;
    for (size_t i = 0; i < ours.size(); ++i) {
      CAPTURE(i);
      const double scale = std::max(1.0, exact[i].abs().max().item<double>());
      const at::Tensor mine = ours[i].cpu().to(at::kDouble);
      CHECK((mine - exact[i]).abs().max().item<double>() / scale < tolerance);
    }
    const auto again = pass(c, at::kCUDA, c.type);
    for (size_t i = 0; i < ours.size(); ++i) CHECK(again[i].equal(ours[i]));
  }
  CHECK(said.empty());
}
