#include "s2s/nn/layers.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/device.h"

using s2s::test::device;
using s2s::test::on_device;

TEST_CASE("linear layers start as in torch, or as the model says") {
  s2s::Linear plain(64, 32);
  plain.materialize(device(), at::kFloat, 1);
  CHECK(plain.weight.sizes() == at::IntArrayRef({32, 64}));
  CHECK(plain.weight.abs().max().item<float>() <= 0.125);
  CHECK(plain.weight.abs().max().item<float>() > 0.12);
  CHECK(plain.bias.abs().max().item<float>() > 0.05);
  s2s::Linear chosen(64, 32, true, s2s::Init{s2s::Init::Kind::kNormal, 0.5});
  chosen.materialize(device(), at::kFloat, 1);
  CHECK(chosen.weight.std().item<float>() == doctest::Approx(0.5).epsilon(0.05));
  CHECK(chosen.bias.abs().max().item<float>() == 0);
  const at::Tensor x = at::rand({3, 5, 64}, device());
  CHECK(at::allclose(plain(x), at::matmul(x, plain.weight.t()) + plain.bias, 1e-4, 1e-5));
}

TEST_CASE("the padding row of an embedding gets no gradient") {
  s2s::Embedding table(5, 3, {s2s::Init::Kind::kNormal, 1.0}, 2);
  table.materialize(device(), at::kFloat, 1);
  const at::Tensor ids = at::tensor({1, 2, 2, 4}, on_device(at::kLong)).view({2, 2});
  const at::Tensor rows = table(ids);
  CHECK(at::equal(rows[0][1], table.weight[2]));
  rows.sum().backward();
  CHECK(at::equal(table.weight.grad().sum(-1), at::tensor({0.F, 3.F, 0.F, 0.F, 3.F}).to(device())));
}

TEST_CASE("normalization layers follow their formulas") {
  s2s::RmsNorm rms(16, 1e-5);
  rms.materialize(device(), at::kFloat, 1);
  rms.weight.detach().uniform_(0.5, 2);
  const at::Tensor x = at::randn({4, 7, 16}, device());
  const at::Tensor expected = x * at::rsqrt(x.pow(2).mean(-1, true) + 1e-5) * rms.weight;
  CHECK(at::allclose(rms(x), expected, 1e-5, 1e-6));
  s2s::RmsNorm added(16, 1e-5, s2s::NormWeight::kAddedToOne);
  added.materialize(device(), at::kFloat, 1);
  CHECK(added.weight.abs().max().item<float>() == 0);
  added.weight.detach().uniform_(-0.5, 0.5);
  const at::Tensor shifted = x * at::rsqrt(x.pow(2).mean(-1, true) + 1e-5) * (1 + added.weight);
  CHECK(at::allclose(added(x), shifted, 1e-5, 1e-6));
  s2s::LayerNorm layer(16);
  layer.materialize(device(), at::kFloat, 1);
  CHECK(layer(x).mean(-1).abs().max().item<float>() < 1e-5);
}
