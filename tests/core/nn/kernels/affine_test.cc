#include "nn/kernels/affine.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "train/precision.h"

namespace {

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  return (a - b).abs().max().item<double>();
}

/// Values and all gradients of `call` on copies of the inputs.
template <class Call>
std::vector<at::Tensor> values_and_gradients(const std::vector<at::Tensor>& inputs, Call call) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) leaves.push_back(input.detach().clone().requires_grad_());
  const at::Tensor y = call(leaves);
  (y * at::arange(y.numel(), at::kFloat).view(y.sizes()).cos()).sum().backward();
  std::vector<at::Tensor> out{y.detach()};
  for (const at::Tensor& leaf : leaves) out.push_back(leaf.grad());
  return out;
}

void check_linear(std::vector<int64_t> x_sizes, int64_t out, bool with_bias) {
  at::manual_seed(7);
  const int64_t in = x_sizes.back();
  std::vector<at::Tensor> inputs{at::randn(x_sizes), at::randn({out, in})};
  if (with_bias) inputs.push_back(at::randn({out}));
  const auto ours = values_and_gradients(inputs, [&](const std::vector<at::Tensor>& t) {
    return s2s::affine(t[0], t[1], with_bias ? t[2] : at::Tensor());
  });
  const auto plain = values_and_gradients(inputs, [&](const std::vector<at::Tensor>& t) {
    return with_bias ? at::linear(t[0], t[1], t[2]) : at::linear(t[0], t[1]);
  });
  REQUIRE(ours.size() == plain.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(i);
    CHECK(largest_difference(ours[i], plain[i]) < 2e-3);  // sums of thousands of numbers near one
  }
}

const s2s::Precision kMixed{at::kFloat, /*autocast=*/at::kBFloat16};

}  // namespace

TEST_CASE("affine equals LibTorch's, with all gradients, for large and small products") {
  check_linear({2, 3, 4}, 5, true);
  check_linear({4, 125, 64}, 130, true);
  check_linear({4, 125, 64}, 130, false);
  check_linear({500, 96}, 200, true);
}

TEST_CASE("affine leaves out gradients that nobody asked for") {
  const at::Tensor x = at::randn({300, 64});
  const at::Tensor weight = at::randn({80, 64}).requires_grad_();
  s2s::affine(x, weight).sum().backward();
  CHECK_FALSE(x.grad().defined());
  CHECK(weight.grad().defined());
}

TEST_CASE("a product under autocast is computed in bfloat16 as ever") {
  const at::Tensor x = at::randn({300, 64}, at::kBFloat16);
  const at::Tensor weight = at::randn({80, 64}, at::kBFloat16);
  CHECK((s2s::affine(x, weight).scalar_type() == at::kBFloat16));
}

TEST_CASE("few rows without gradients equal LibTorch's product, whatever the sizes") {
  at::manual_seed(10);
  const at::NoGradGuard no_grad;
  for (const auto& [rows, in, out] : std::vector<std::array<int64_t, 3>>{
           {1, 64, 48}, {4, 70, 33}, {7, 5, 3}, {16, 128, 130}, {17, 128, 130}}) {
    CAPTURE(rows);
    const at::Tensor x = at::randn({rows, 1, in}), weight = at::randn({out, in});
    const at::Tensor bias = at::randn({out});
    CHECK(largest_difference(s2s::affine(x, weight), at::linear(x, weight)) < 1e-4);
    CHECK(largest_difference(s2s::affine(x, weight, bias), at::linear(x, weight, bias)) < 1e-4);
  }
}

TEST_CASE("few rows of bfloat16 equal LibTorch's product, stored so or cast on the way") {
  at::manual_seed(11);
  const at::NoGradGuard no_grad;
  for (const auto& [rows, in, out] :
       std::vector<std::array<int64_t, 3>>{{1, 64, 48}, {4, 70, 33}, {7, 5, 3}, {16, 128, 130}}) {
    CAPTURE(rows);
    const at::Tensor x = at::randn({rows, 1, in}), weight = at::randn({out, in});
    const at::Tensor bias = at::randn({out});
    const auto cast = [](const at::Tensor& t) { return t.to(at::kBFloat16); };
    const at::Tensor expected = at::linear(cast(x), cast(weight), cast(bias));
    // One unit in the last place of results up to 64: the sums differ in their order only.
    const auto check = [&](const at::Tensor& y) {
      CHECK((y.scalar_type() == at::kBFloat16));
      CHECK(largest_difference(y.to(at::kFloat), expected.to(at::kFloat)) <= 0.25);
    };
    check(s2s::affine(cast(x), cast(weight), cast(bias)));
    const s2s::AutocastScope autocast(kMixed, at::kCPU);
    check(s2s::affine(x, weight, bias));
    check(s2s::affine(cast(x), weight, bias));
  }
}

TEST_CASE("rounding to bfloat16 on the way is LibTorch's, for every kind of number") {
  const at::NoGradGuard no_grad;
  const float infinity = std::numeric_limits<float>::infinity();
  const at::Tensor numbers = at::cat({at::tensor({0.0F, -0.0F, 1.00390625F, 1.01171875F, 3.4e38F,
                                                  infinity, -infinity, std::nanf(""), 1e-40F}),
                                      at::randn({55}) * 1e3});
  const s2s::AutocastScope autocast(kMixed, at::kCPU);
  const at::Tensor y = s2s::affine(at::ones({1, 1}), numbers.view({-1, 1}));
  CHECK(at::equal(y.isnan(), numbers.isnan().view({1, -1})));
  CHECK(at::equal(y.nan_to_num(7).to(at::kFloat),
                  numbers.to(at::kBFloat16).nan_to_num(7).to(at::kFloat).view({1, -1})));
}
