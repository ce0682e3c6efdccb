// Products of several layers at once. On a CPU they stay separate.

#include "nn/joined_linear.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <map>

#include "common/device.h"
#include "nn/fused.h"

using s2s::test::device;

namespace {

bool is_on_cpu() { return device().is_cpu(); }

/// Queries, keys and values, as a decoder has them.
struct Projections : s2s::Block {
  explicit Projections(bool bias) : q(24, 32, bias), k(24, 16, bias), v(24, 16, bias) {
    register_block("attn", attn);
    attn.register_block("q", q);
    attn.register_block("k", k);
    attn.register_block("v", v);
    attn.register_block("o", o);
    materialize(device(), at::kFloat, 3);
  }
  s2s::Block attn;
  s2s::Linear q, k, v, o{32, 24, false};
};

struct LayerPass {
  std::vector<at::Tensor> y;
  at::Tensor dx;
  std::map<std::string, at::Tensor> gradients;
};

double gap_between(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

/// Gradients of a sum with random factors. `unused`: the part that the sum leaves out.
LayerPass layer_pass(Projections& layers, bool joins, size_t unused = 3) {
  at::manual_seed(4);
  at::Tensor x = at::randn({2, 5, 24}).to(device()).set_requires_grad(true);
  LayerPass out;
  if (joins) {
    const at::Tensor all = s2s::joined_linear(x, {&layers.q, &layers.k, &layers.v});
    REQUIRE(all.defined());
    out.y = s2s::split_columns(all, {32, 16, 16});
  } else {
    out.y = {layers.q(x), layers.k(x), layers.v(x)};
  }
  at::Tensor sum = at::zeros({}, x.options());
  for (size_t i = 0; i < 3; ++i) {
    const at::Tensor factors = at::randn(out.y[i].sizes()).to(device());
    if (i != unused) sum = sum + (out.y[i] * factors).sum();
  }
  sum.backward();
  out.dx = x.grad();
  for (const s2s::NamedTensor& p : layers.named_parameters()) {
    if (p.tensor->grad().defined()) out.gradients[p.name] = p.tensor->grad().clone();
    p.tensor->mutable_grad().reset();
  }
  return out;
}

/// Works at no block, or at one.
struct CountingHooks : s2s::BlockHooks {
  at::Tensor call(s2s::Block&, const at::Tensor& x, const Forward& forward) override {
    return forward(x);
  }
  void use(s2s::Block&) override { ++used; }
  bool only_calls(const s2s::Block& block) const override { return &block != works_at; }
  const s2s::Block* works_at = nullptr;
  int used = 0;
};

}  // namespace

TEST_CASE("one product has the outputs and gradients of three") {
  if (is_on_cpu()) return;
  for (const bool bias : {false, true}) {
    Projections layers(bias);
    const LayerPass joined = layer_pass(layers, true), separate = layer_pass(layers, false);
    for (size_t i = 0; i < 3; ++i) CHECK(gap_between(joined.y[i], separate.y[i]) < 1e-6);
    CHECK(gap_between(joined.dx, separate.dx) < 1e-5);
    REQUIRE(joined.gradients.size() == (bias ? 6 : 3));
    for (const auto& [name, gradient] : separate.gradients) {
      CAPTURE(name);
      CHECK(gap_between(joined.gradients.at(name), gradient) < 1e-5);
    }
  }
}

TEST_CASE("a part without a gradient and frozen weights count as in separate products") {
  if (is_on_cpu()) return;
  Projections layers(true);
  const LayerPass joined = layer_pass(layers, true, 1), separate = layer_pass(layers, false, 1);
  CHECK(gap_between(joined.dx, separate.dx) < 1e-5);
  CHECK(gap_between(joined.gradients.at("attn.v.weight"), separate.gradients.at("attn.v.weight")) <
        1e-5);
  CHECK(joined.gradients.at("attn.k.weight").eq(0).all().item<bool>());
  layers.q.set_requires_grad(false);
  const LayerPass frozen = layer_pass(layers, true);
  CHECK(frozen.gradients.size() == 4);
  CHECK_FALSE(frozen.gradients.contains("attn.q.weight"));
  layers.set_requires_grad(false);
  CHECK(layer_pass(layers, true).gradients.empty());
}

TEST_CASE("layers stay separate on a CPU, with LoRA, apart in memory, or with work at their hook") {
  const at::Tensor x = at::randn({3, 24}).to(device());
  const auto joins = [&](Projections& l) {
    return s2s::joined_linear(x, {&l.q, &l.k, &l.v}).defined();
  };
  Projections layers(false);
  CHECK(joins(layers) == !is_on_cpu());
  CountingHooks hooks;
  layers.k.set_hooks(&hooks);
  CHECK(joins(layers) == !is_on_cpu());
  CHECK(hooks.used == (is_on_cpu() ? 0 : 1));
  hooks.works_at = &layers.k;
  CHECK_FALSE(joins(layers));
  layers.k.set_hooks(nullptr);
  layers.k.weight = layers.k.weight.detach().clone();
  CHECK_FALSE(joins(layers));
  Projections adapted(false);
  adapted.v.add_lora(2, 1, 0);
  CHECK_FALSE(joins(adapted));
}

TEST_CASE("both halves of a gated MLP side by side give what they give apart") {
  using s2s::GateActivation;
  for (const auto activation : {GateActivation::kSilu, GateActivation::kGeluTanh}) {
    at::manual_seed(6);
    const at::Tensor start = at::randn({2, 3, 20}).to(device());
    const at::Tensor factors = at::randn({2, 3, 10}).to(device());
    const auto gradient = [&](bool is_joined, at::Tensor& y) {
      at::Tensor x = start.clone().set_requires_grad(true);
      const auto halves = x.chunk(2, -1);
      y = is_joined                             ? s2s::gated_halves(x, activation)
          : activation == GateActivation::kSilu ? s2s::swiglu_plain(halves[0], halves[1])
                                                : s2s::geglu_plain(halves[0], halves[1]);
      (y * factors).sum().backward();
      return x.grad();
    };
    at::Tensor joined, apart;
    CHECK(gap_between(gradient(true, joined), gradient(false, apart)) < 1e-6);
    CHECK(gap_between(joined, apart) < 1e-6);
  }
}

TEST_CASE("parameters of siblings are leaves of their own, with the values of a CPU") {
  Projections layers(true);
  std::map<std::string, at::Tensor> values;
  for (const s2s::NamedTensor& p : layers.named_parameters()) {
    CHECK(p.tensor->is_leaf());
    CHECK_FALSE(p.tensor->is_view());
    CHECK(p.tensor->is_contiguous());
    values[p.name] = p.tensor->detach().cpu();
  }
  CHECK(layers.k.weight.is_alias_of(layers.q.weight) == !is_on_cpu());
  CHECK(layers.k.bias.is_alias_of(layers.q.bias) == !is_on_cpu());
  CHECK_FALSE(layers.o.weight.is_alias_of(layers.q.weight));
  layers.materialize(at::kCPU, at::kFloat, 3);
  for (const s2s::NamedTensor& p : layers.named_parameters()) {
    CHECK(p.tensor->equal(values.at(p.name)));
  }
}
