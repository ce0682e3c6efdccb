// The plugin itself: what it registers, and on a GPU what its kernels compute.

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <doctest/doctest.h>

#include "nn/fused.h"
#include "nn/operators.h"
#include "parallel/gpus.h"
#include "plugins/built_plugins.h"
#include "s2s/nn/decoder.h"
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
  std::optional<at::ScalarType> y_type = {}, weight_type = {};  // default: type
};

/// Leaves of one case, the same on every device. is_exact: of the same values in float64.
std::vector<at::Tensor> leaves(const Case& c, at::Device device, bool is_exact) {
  at::manual_seed(7);
  std::vector<at::Tensor> out;
  const std::vector<int64_t> of_weight = {c.sizes.back()};
  const auto add = [&](const std::vector<int64_t>& sizes, at::ScalarType type) {
    const int64_t count = c10::multiply_integers(sizes);
    const at::Tensor drawn =
        at::randn({count + c.offset}).to(type).to(is_exact ? at::kDouble : type).to(device);
    out.push_back(drawn.narrow(0, c.offset, count).reshape(sizes).detach().requires_grad_());
  };
  add(c.sizes, c.type);
  add(c.sizes, c.y_type.value_or(c.type));
  add(of_weight, c.weight_type.value_or(c.type));
  return out;
}

/// sum, normed, and the gradients of x, y and weight.
std::vector<at::Tensor> pass(const Case& c, at::Device device, bool is_exact) {
  const std::vector<at::Tensor> in = leaves(c, device, is_exact);
  const at::ScalarType type = is_exact ? at::kDouble : c.type;
  const at::Tensor a = at::randn(c.sizes).to(c.type).to(type).to(device);
  const at::Tensor b = at::randn(c.sizes).to(c.type).to(type).to(device);
  const auto [sum, normed] = s2s::add_rms_norm(in[0], in[1], in[2], 1e-5, c.kind);
  const at::Tensor alone = s2s::rms_norm(in[0], in[2], 1e-5, c.kind);
  (sum * a + normed * b + alone * a).sum().backward();
  return {sum.detach(), normed.detach(), alone.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
}

double tolerance_of(at::ScalarType type) {
  return type == at::kFloat ? 1e-5 : type == at::kHalf ? 5e-3 : 4e-2;
}

/// As close as the dtypes allow: that of the case, and of each tensor (a gradient has its leaf's).
void check_close(const std::vector<at::Tensor>& ours, const std::vector<at::Tensor>& exact,
                 at::ScalarType type) {
  for (size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(i);
    const double tolerance = std::max(tolerance_of(type), tolerance_of(ours[i].scalar_type()));
    const double scale = std::max(1.0, exact[i].abs().max().item<double>());
    const at::Tensor mine = ours[i].cpu().to(at::kDouble);
    CHECK((mine - exact[i]).abs().max().item<double>() / scale < tolerance);
  }
}

constexpr s2s::HeadCounts kHeads = {6, 2};

/// Both gates and both rotations of the same values, and the gradients of their inputs.
std::vector<at::Tensor> gated_and_rotated(at::ScalarType type, int64_t dim, at::Device device,
                                          bool is_exact) {
  at::manual_seed(9);
  const at::ScalarType computed = is_exact ? at::kDouble : type;
  const auto values = [&](at::IntArrayRef sizes) {
    return at::randn(sizes).to(type).to(device, computed);
  };
  const at::Tensor half = at::rand({17, dim / 2}) * 6;
  const at::Tensor angles = at::cat({half, half}, 1);
  const at::Tensor cos = angles.cos().to(device), sin = angles.sin().to(device);
  at::Tensor packed = values({3, 17, 10 * dim}).requires_grad_();
  at::Tensor halves = values({3, 17, 2 * dim}).requires_grad_();
  // The product's memory is taken over, and a leaf's may not be.
  const auto [q, k, v] = s2s::rotate_qkv(packed * 1, cos, sin, kHeads);
  const auto [q_again, k_again] =
      s2s::rotate_qk(q.transpose(1, 2).contiguous().transpose(1, 2), k, cos, sin);
  const at::Tensor gated = s2s::gated_halves(halves, s2s::GateActivation::kSilu);
  const auto two = halves.chunk(2, -1);
  const at::Tensor other = s2s::geglu(two[1], two[0]);
  (q_again * values(q.sizes())).sum().backward({}, /*retain_graph=*/true);
  ((k_again * values(k.sizes())).sum() + (v * values(v.sizes())).sum()).backward();
  ((gated + other) * values(gated.sizes())).sum().backward();
  return {q_again.detach(), k_again.detach(), v.detach(),   gated.detach(),
          other.detach(),   packed.grad(),    halves.grad()};
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
  CHECK(kernels->operators() == std::vector<std::string>{"rms_norm", "add_rms_norm", "gated",
                                                         "gated_halves", "rotate_qk",
                                                         "rotate_qkv_"});
  CHECK(has_cuda(operators.gated_backward));
  CHECK(has_cuda(operators.gated_halves_backward));
  CHECK(has_cuda(operators.rotate_qkv_backward));
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

TEST_CASE("on a GPU draws and memory are as before after a recording that failed") {
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
  const at::Tensor x = at::ones({512, 512}, options);
  const auto fail = [&] {
    const auto graph = s2s::make_device_graph(gpu);
    CHECK_FALSE(graph->record(
        [&] { (at::mm(x, x) * at::rand({1}, drawing, options)).sum().item<float>(); }, {drawing}));
  };
  const auto reserved = [] {
    at::accelerator::emptyCache();
    return at::accelerator::getDeviceStats(0).reserved_bytes[0].current;
  };
  fail();  // the first one loads kernels
  const int64_t before = reserved();
  for (int i = 0; i < 3; ++i) {
    fail();
    CHECK(at::rand({64}, drawing, options).equal(at::rand({64}, expected, options)));
    CHECK(at::rand({64}, options).max().item<float>() < 1);  // the default generator
  }
  CHECK(reserved() == before);
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
        Case{{9, 2048}, at::kFloat, NormWeight::kFactor, 0, at::kBFloat16},
        Case{{7, 1000}, at::kFloat, kAdded, 0, at::kBFloat16, at::kFloat},
        Case{{2, 8, 128}, at::kBFloat16, NormWeight::kFactor, 0, {}, at::kFloat},
        Case{{3, 40000}, at::kFloat}}) {  // the last one has no kernel
    CAPTURE(c.sizes.back());
    CAPTURE(c10::toString(c.type));
    const auto ours = pass(c, at::kCUDA, false);
    check_close(ours, pass(c, at::kCPU, true), c.type);
    const auto again = pass(c, at::kCUDA, false);
    for (size_t i = 0; i < ours.size(); ++i) CHECK(again[i].equal(ours[i]));
  }
  CHECK(said.empty());
}

TEST_CASE("on a GPU gates and rotations equal float64, forward and backward, packed and apart") {
  if (s2s::test::num_gpus() == 0) {
    MESSAGE("skipped: no GPU here");
    return;
  }
  BuiltPlugins plugins;
  std::vector<std::string> said;
  const auto kernels = make_kernels(plugins, said);
  REQUIRE_FALSE(kernels->operators().empty());
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const int64_t dim : {64, 128, 6}) {
      CAPTURE(c10::toString(type));
      CAPTURE(dim);
      const auto ours = gated_and_rotated(type, dim, at::kCUDA, false);
      check_close(ours, gated_and_rotated(type, dim, at::kCPU, true), type);
      const auto again = gated_and_rotated(type, dim, at::kCUDA, false);
      for (size_t i = 0; i < ours.size(); ++i) CHECK(again[i].equal(ours[i]));
    }
  }
  CHECK(said.empty());
}
