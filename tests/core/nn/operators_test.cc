#include "nn/operators.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "common/device.h"
#include "nn/fused.h"
#include "s2s/nn/decoder.h"
#include "s2s/nn/device_graph.h"

namespace {

using s2s::Operators;
using s2s::test::device;

struct NoGraph : s2s::DeviceGraph {
  bool record(const std::function<void()>&, const std::vector<at::Generator>&) override {
    return false;
  }
  void replay() override {}
};

/// The dispatch key of the device that this test computes on.
c10::DispatchKey device_key() {
  return c10::legacyExtractDispatchKey(at::empty({1}, s2s::test::on_device(at::kFloat)).key_set());
}

/// As a plugin does: in float64, for every dtype that it gets, and it counts its calls.
class CountedKernels : public s2s::DeviceKernels {
 public:
  CountedKernels() : library_(torch::Library::IMPL, "s2s", device_key(), __FILE__, 0) {
    library_.impl("add_rms_norm", [this](const at::Tensor& x, const at::Tensor& y,
                                         const at::Tensor& weight, double eps, bool adds_one) {
      ++forwards;
      const at::Tensor sum = x + y;
      const at::Tensor wide = sum.to(at::kDouble);
      const at::Tensor inv_rms = at::rsqrt(wide.square().mean(-1, true) + eps);
      const at::Tensor factor = weight.to(at::kDouble) + (adds_one ? 1 : 0);
      const at::Tensor normed = (wide * inv_rms * factor).to(x.scalar_type());
      return Operators::Three(sum, normed, inv_rms.reshape(-1).to(at::kFloat));
    });
    library_.impl("add_rms_norm_backward",
                  [this](const at::Tensor& d_sum, const at::Tensor& d_normed, const at::Tensor& sum,
                         const at::Tensor& weight, const at::Tensor& inv_rms, bool adds_one,
                         at::ScalarType y_type) {
                    ++backwards;
                    last_y_type = y_type;
                    const at::Tensor x = sum.to(at::kDouble), grad = d_normed.to(at::kDouble);
                    const at::Tensor r = inv_rms.to(at::kDouble).view({sum.size(0), -1, 1});
                    const at::Tensor scaled = grad * (weight.to(at::kDouble) + (adds_one ? 1 : 0));
                    const at::Tensor pull = (scaled * x).mean(-1, true) * r.pow(3);
                    const at::Tensor dx = (scaled * r - x * pull + d_sum).to(sum.scalar_type());
                    const at::Tensor d_weight =
                        (grad * x * r).flatten(0, -2).sum(0).to(weight.scalar_type());
                    return Operators::Three(dx, dx.to(y_type), d_weight);
                  });
  }
  std::vector<std::string> operators() const override { return {"add_rms_norm"}; }
  std::unique_ptr<s2s::DeviceGraph> make_graph() override { return std::make_unique<NoGraph>(); }

  int forwards = 0;
  int backwards = 0;
  at::ScalarType last_y_type = at::kDouble;

 private:
  torch::Library library_;
};

/// The CPU's implementations as those of a device.
class RowKernels {
 public:
  RowKernels() : library_(torch::Library::IMPL, "s2s", device_key(), __FILE__, 0) {
    for (const char* name : {"gated", "gated_backward", "gated_halves", "gated_halves_backward",
                             "rotate_qk", "rotate_qkv_", "rotate_qkv_backward"}) {
      library_.impl(
          name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<OnHost>(counts[name])));
    }
  }
  std::map<std::string, int> counts;

 private:
  /// Copies the arguments to the CPU, and the results (or what was written) back.
  struct OnHost : c10::OperatorKernel {
    explicit OnHost(int& calls) : calls(calls) {}
    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
      ++calls;
      const size_t count = op.schema().arguments().size();
      const at::Tensor written = stack->at(stack->size() - count).toTensor();
      for (size_t i = stack->size() - count; i < stack->size(); ++i) {
        if (stack->at(i).isTensor()) stack->at(i) = stack->at(i).toTensor().cpu();
      }
      const at::Tensor on_host = stack->at(stack->size() - count).toTensor();
      op.callBoxed(stack);
      if (op.schema().returns().empty()) written.copy_(on_host);
      for (c10::IValue& value : *stack) value = value.toTensor().to(device());
    }
    int& calls;
  };
  torch::Library library_;
};

/// y = x + y and its norm, summed with fixed weights; the gradients of x, y and weight.
struct Passed {
  at::Tensor sum, normed, dx, dy, d_weight;
};

Passed pass(at::ScalarType type, s2s::NormWeight kind, at::ScalarType y_type) {
  at::manual_seed(3);
  const auto leaf = [&](at::IntArrayRef sizes, at::ScalarType of) {
    return at::randn(sizes).to(y_type).to(device(), of).set_requires_grad(true);
  };
  const at::Tensor x = leaf({3, 5, 40}, type);
  const at::Tensor y = leaf({3, 5, 40}, y_type);
  const at::Tensor weight = leaf({40}, type);
  const auto [sum, normed] = s2s::add_rms_norm(x, y, weight, 1e-5, kind);
  CHECK((sum.scalar_type() == type));
  const at::Tensor a = at::randn({3, 5, 40}).to(device(), type);
  const at::Tensor b = at::randn({3, 5, 40}).to(device(), type);
  (sum * a + normed * b).sum().backward();
  return {sum.detach(), normed.detach(), x.grad(), y.grad(), weight.grad()};
}

Passed pass(at::ScalarType type, s2s::NormWeight kind) { return pass(type, kind, type); }

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

class TinyDecoder : public s2s::Decoder {
 public:
  using Decoder::Decoder;
  s2s::ShardPlan configure_model(const s2s::MeshShape&) const override { return plan_with({}, {}); }
};

constexpr int kLayers = 3;

/// Hidden states of fixed ids, and the gradient of the first layer's second norm.
std::pair<at::Tensor, at::Tensor> decoded(bool post_norms) {
  s2s::DecoderSpec spec;
  spec.shape = {40, 24, kLayers, 4, 2, 8, 36, true};
  spec.initializer_range = 0.3;
  spec.post_norms = post_norms;
  TinyDecoder model(spec);
  model.materialize(device(), at::kFloat, 5);
  model.set_requires_grad(true);
  const at::Tensor ids = at::arange(18).reshape({2, 9}).to(device());
  const at::Tensor hidden = model(model.embed(ids), {});
  at::manual_seed(6);
  (hidden * at::randn(hidden.sizes()).to(device()))
      .sum()
      .backward();  // of a norm the squares are constant
  for (const s2s::NamedTensor& parameter : model.named_parameters()) {
    if (parameter.name == "layers.0.post_attention_layernorm.weight") {
      return {hidden.detach(), parameter.tensor->grad()};
    }
  }
  return {};
}

}  // namespace

TEST_CASE("the operators of s2s are in LibTorch's dispatcher, with the CPU's norm") {
  const Operators& operators = s2s::operators();
  CHECK(&operators == &s2s::operators());
  const at::Tensor x = at::ones({2, 3});
  CHECK(s2s::is_implemented(operators.rms_norm, x));
  CHECK(s2s::is_implemented(operators.rms_norm_backward, x));
  CHECK_FALSE(s2s::is_implemented(operators.add_rms_norm, x));
  CHECK(s2s::is_implemented(operators.gated_halves, x));
  CHECK(s2s::is_implemented(operators.rotate_qkv_, x));
  CHECK_FALSE(s2s::is_implemented(operators.rms_norm, x.to(at::kMeta)));
  CHECK(s2s::has_kernel(operators.gated, x));
  CHECK_FALSE(s2s::has_kernel(operators.gated, x.to(at::kHalf)));  // the CPU has no rows of it
}

TEST_CASE("without a kernel a norm of a sum is an addition and a norm, to the last bit") {
  at::manual_seed(4);
  const at::Tensor x = at::randn({4, 40});
  const at::Tensor y = at::randn({4, 40});
  const at::Tensor weight = at::randn({40});
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const auto [sum, normed] = s2s::add_rms_norm(x.to(type), y.to(type), weight.to(type), 1e-6);
    CHECK(sum.equal(x.to(type) + y.to(type)));
    CHECK(normed.equal(s2s::rms_norm(sum, weight.to(type), 1e-6)));
  }
}

TEST_CASE("a plugin's kernel takes the norm of a sum over, with the gradients of the plain one") {
  for (const auto kind : {s2s::NormWeight::kFactor, s2s::NormWeight::kAddedToOne}) {
    const Passed plain = pass(at::kFloat, kind);
    Passed ours;
    {
      const CountedKernels kernels;
      CHECK(s2s::is_implemented(s2s::operators().add_rms_norm, plain.sum));
      ours = pass(at::kFloat, kind);
      CHECK(kernels.forwards == 1);
      CHECK(kernels.backwards == 1);
      pass(at::kDouble, kind);  // of a type that kernels do not get
      CHECK(kernels.forwards == 1);
    }
    CHECK_FALSE(s2s::is_implemented(s2s::operators().add_rms_norm, plain.sum));
    CHECK(ours.sum.equal(plain.sum));
    CHECK(distance(ours.normed, plain.normed) < 1e-6);
    CHECK(distance(ours.dx, plain.dx) < 1e-5);
    CHECK(distance(ours.dy, plain.dy) < 1e-5);
    CHECK(distance(ours.d_weight, plain.d_weight) < 1e-5);
  }
}

TEST_CASE("under autocast a device's kernel takes the sum of float32 and bfloat16") {
  if (device().is_cpu()) return;  // there the sum is taken alone
  for (const auto kind : {s2s::NormWeight::kFactor, s2s::NormWeight::kAddedToOne}) {
    const Passed plain = pass(at::kFloat, kind, at::kBFloat16);
    const CountedKernels kernels;
    const Passed ours = pass(at::kFloat, kind, at::kBFloat16);
    CHECK(kernels.forwards == 1);
    CHECK(kernels.backwards == 1);
    CHECK((kernels.last_y_type == at::kBFloat16));
    CHECK((ours.dy.scalar_type() == at::kBFloat16));
    CHECK(ours.sum.equal(plain.sum));
    CHECK(distance(ours.normed, plain.normed) < 1e-6);
    CHECK(distance(ours.dx, plain.dx) < 1e-5);
    CHECK(distance(ours.dy, plain.dy) < 2e-2);
    CHECK(distance(ours.d_weight, plain.d_weight) < 1e-5);
    const at::Tensor low = at::ones({2, 40}, s2s::test::on_device(at::kBFloat16));
    const at::Tensor wide = at::ones({2, 40}, s2s::test::on_device(at::kFloat));
    s2s::add_rms_norm(low, wide, wide[0], 1e-5, kind);  // the sum is wider than the first
    CHECK(kernels.forwards == 1);
  }
}

TEST_CASE("a norm of a sum is one operator under hooks that do nothing but call the norm") {
  struct Hooks : s2s::BlockHooks {
    at::Tensor call(s2s::Block&, const at::Tensor& x, const Forward& forward) override {
      ++calls;
      return forward(x);
    }
    void use(s2s::Block&) override { ++uses; }
    bool only_calls(const s2s::Block&) const override { return does_no_more; }
    bool does_no_more = true;
    int calls = 0, uses = 0;
  };
  s2s::RmsNorm norm(40, 1e-5);
  norm.materialize(device(), at::kFloat, 1);
  Hooks hooks;
  norm.set_hooks(&hooks);
  const CountedKernels kernels;
  const at::Tensor x = at::ones({2, 3, 40}, s2s::test::on_device(at::kFloat));
  const at::Tensor once = norm.of_sum(x, x).second;
  const bool is_fused = !device().is_cpu();  // on a CPU nothing would be gained
  CHECK(kernels.forwards == (is_fused ? 1 : 0));
  CHECK(hooks.uses == (is_fused ? 1 : 0));
  CHECK(hooks.calls == (is_fused ? 0 : 1));
  hooks.does_no_more = false;
  const at::Tensor twice = norm.of_sum(x, x).second;
  CHECK(kernels.forwards == (is_fused ? 1 : 0));
  CHECK(hooks.calls == (is_fused ? 1 : 2));
  CHECK(distance(once, twice) < 1e-6);
  norm.set_hooks(nullptr);
}

TEST_CASE("gates and rotations of a device come from its kernels, with their gradients") {
  if (device().is_cpu()) return;  // the CPU's row kernels are tested in fused_test.cc
  const auto decoded_twice = [] { return decoded(false); };
  const auto [plain, plain_grad] = decoded_twice();
  const RowKernels kernels;
  const auto [ours, grad] = decoded_twice();
  CHECK(kernels.counts.at("rotate_qkv_") == kLayers);
  CHECK(kernels.counts.at("rotate_qkv_backward") == kLayers);
  CHECK(kernels.counts.at("gated_halves") == kLayers);
  CHECK(kernels.counts.at("gated_halves_backward") == kLayers);
  CHECK(distance(ours, plain) < 2e-5);
  CHECK(distance(grad, plain_grad) < 2e-4 * plain_grad.abs().max().item<double>());
}

TEST_CASE("kernels of a device come from the registries, unless S2S_KERNELS is plain") {
  s2s::Registries registries;
  std::vector<std::string> said;
  s2s::BuildContext context;
  context.registries = &registries;
  context.warn = [&](const std::string& message) { said.push_back(message); };
  registries.set_missing_handler([](const std::string&, const std::string& name, const s2s::Config&,
                                    const std::string&) {
    throw s2s::Error(s2s::ExitCode::kPlugin, name == "cuda" ? "plugin/unknown" : "plugin/abi", "");
  });
  CHECK(s2s::make_device_kernels(at::kCUDA, context) == nullptr);
  CHECK_THROWS_AS(s2s::make_device_kernels(at::kXPU, context), s2s::Error);

  s2s::Component<s2s::DeviceKernels> component;
  component.name = "cuda";
  component.create = [](const s2s::Config&, const s2s::BuildContext&) {
    return std::unique_ptr<s2s::DeviceKernels>(std::make_unique<CountedKernels>());
  };
  registries.of<s2s::DeviceKernels>().add(component);
  const auto kernels = s2s::make_device_kernels(at::kCUDA, context);
  REQUIRE(kernels != nullptr);
  CHECK(kernels->operators() == std::vector<std::string>{"add_rms_norm"});
  ::setenv("S2S_KERNELS", "plain", 1);
  CHECK(s2s::make_device_kernels(at::kCUDA, context) == nullptr);
  CHECK(said.empty());
  ::setenv("S2S_KERNELS", "fast", 1);
  CHECK(s2s::make_device_kernels(at::kCUDA, context) != nullptr);
  ::unsetenv("S2S_KERNELS");
  REQUIRE(said.size() == 1);
  CHECK(said[0] == "S2S_KERNELS: 'fast' is ignored; the only value is 'plain'");
}

TEST_CASE("graphs come from the kernels that live, unless S2S_GRAPHS is off") {
  s2s::Registries registries;
  std::vector<std::string> said;
  s2s::BuildContext context;
  context.registries = &registries;
  context.warn = [&](const std::string& message) { said.push_back(message); };
  s2s::Component<s2s::DeviceKernels> component;
  component.name = "cuda";
  component.create = [](const s2s::Config&, const s2s::BuildContext&) {
    return std::unique_ptr<s2s::DeviceKernels>(std::make_unique<CountedKernels>());
  };
  registries.of<s2s::DeviceKernels>().add(component);
  const auto has_graph = [] { return s2s::make_device_graph({at::kCUDA, 0}) != nullptr; };
  CHECK_FALSE(has_graph());
  {
    const auto kernels = s2s::make_device_kernels(at::kCUDA, context);
    CHECK(has_graph());
    CHECK(s2s::make_device_graph(at::kCPU) == nullptr);
  }
  CHECK_FALSE(has_graph());
  ::setenv("S2S_GRAPHS", "off", 1);
  const auto kernels = s2s::make_device_kernels(at::kCUDA, context);
  CHECK(kernels != nullptr);
  CHECK_FALSE(has_graph());
  CHECK(said.empty());
  ::setenv("S2S_GRAPHS", "no", 1);
  const auto others = s2s::make_device_kernels(at::kCUDA, context);
  CHECK(has_graph());
  ::unsetenv("S2S_GRAPHS");
  REQUIRE(said.size() == 1);
  CHECK(said[0] == "S2S_GRAPHS: 'no' is ignored; the only value is 'off'");
}

TEST_CASE("a decoder's layers call the norm of a sum, one each") {
  for (const bool post_norms : {false, true}) {
    const auto [plain, plain_grad] = decoded(post_norms);
    const CountedKernels kernels;
    const auto [ours, grad] = decoded(post_norms);
    CHECK(kernels.forwards == kLayers);
    CHECK(kernels.backwards == kLayers);
    CHECK(distance(ours, plain) < 2e-5);
    CHECK(distance(grad, plain_grad) < 2e-4 * plain_grad.abs().max().item<double>());
  }
}
