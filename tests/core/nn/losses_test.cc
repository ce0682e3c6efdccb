#include "s2s/nn/losses.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace {

struct Case {
  at::Tensor x, weight, bias, labels, row_weights;
};

Case make_case(int64_t rows, int64_t groups, int64_t vocab) {
  at::manual_seed(7);
  Case c;
  c.x = at::randn({rows, 12}).set_requires_grad(true);
  c.weight = at::randn({groups * vocab, 12}).set_requires_grad(true);
  c.bias = at::randn({groups * vocab}).set_requires_grad(true);
  c.labels = at::randint(vocab, {rows, groups}, at::kLong);
  c.row_weights = at::rand({rows, groups});
  return c;
}

at::Tensor plain_loss(const Case& c) {
  const int64_t groups = c.labels.size(1);
  const at::Tensor logits = at::linear(c.x, c.weight, c.bias);
  const at::Tensor losses = at::cross_entropy_loss(logits.view({c.x.size(0) * groups, -1}),
                                                   c.labels.flatten(), {}, at::Reduction::None);
  return (losses.view_as(c.row_weights) * c.row_weights).sum();
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace

TEST_CASE("chunked cross entropy equals the plain one, forward and backward") {
  // 300000 logits a row force several chunks of 16 rows.
  for (const auto& [rows, groups, vocab] :
       {std::tuple<int64_t, int64_t, int64_t>{40, 3, 100000}, {50, 8, 13}, {7, 1, 320}}) {
    Case a = make_case(rows, groups, vocab);
    Case b = make_case(rows, groups, vocab);
    const at::Tensor ours =
        s2s::linear_cross_entropy(a.x, {a.weight, a.bias}, a.labels, a.row_weights);
    const at::Tensor plain = plain_loss(b);
    CHECK(ours.item<double>() == doctest::Approx(plain.item<double>()).epsilon(1e-5));
    (ours * 0.5).backward();
    (plain * 0.5).backward();
    CHECK(largest_difference(a.x.grad(), b.x.grad()) < 2e-4);
    CHECK(largest_difference(a.weight.grad(), b.weight.grad()) < 2e-4);
    CHECK(largest_difference(a.bias.grad(), b.bias.grad()) < 2e-4);
  }
}

TEST_CASE("in bfloat16 the head's gradient is not rounded after each chunk") {
  // 48 chunks of 16 rows; each adds -0.48 to the row of the label.
  const int64_t rows = 768, vocab = int64_t{1} << 18;
  const auto options = at::TensorOptions().dtype(at::kBFloat16);
  const at::Tensor x = at::full({rows, 1}, 0.03, options).set_requires_grad(true);
  const at::Tensor weight = at::zeros({vocab, 1}, options).set_requires_grad(true);
  s2s::linear_cross_entropy(x, {weight, {}}, at::zeros({rows, 1}, at::kLong)).backward();
  const double expected = -static_cast<double>(rows) * x[0][0].item<double>();
  CHECK((weight.grad().scalar_type() == at::kBFloat16));
  CHECK(weight.grad()[0][0].item<double>() == doctest::Approx(expected).epsilon(0.005));
}

TEST_CASE("a frozen head gets no gradient, and what it passes on is the same") {
  Case a = make_case(9, 2, 11);
  Case b = make_case(9, 2, 11);
  b.weight.set_requires_grad(false);
  b.bias.set_requires_grad(false);
  s2s::linear_cross_entropy(a.x, {a.weight, a.bias}, a.labels).backward();
  s2s::linear_cross_entropy(b.x, {b.weight, b.bias}, b.labels).backward();
  CHECK(a.x.grad().equal(b.x.grad()));
  CHECK_FALSE(b.weight.grad().defined());
}

TEST_CASE("cross entropy without bias and without row weights") {
  Case c = make_case(9, 2, 11);
  const at::Tensor ours = s2s::linear_cross_entropy(c.x, {c.weight, {}}, c.labels);
  c.bias = at::zeros_like(c.bias);
  c.row_weights = at::ones_like(c.row_weights);
  CHECK(ours.item<double>() == doctest::Approx(plain_loss(c).item<double>()).epsilon(1e-5));
  ours.backward();
  CHECK(c.x.grad().defined());
}

TEST_CASE("a second backward through one loss is refused, its gradients are scaled already") {
  Case c = make_case(9, 2, 11);
  const at::Tensor loss = s2s::linear_cross_entropy(c.x, {c.weight, c.bias}, c.labels) * 0.5;
  loss.backward({}, /*retain_graph=*/true);
  CHECK_THROWS_WITH(loss.backward(), doctest::Contains("modified by an inplace operation"));
}

TEST_CASE("validation rows add up to the training loss and name the largest logit") {
  Case c = make_case(20, 3, 17);
  const auto rows = s2s::linear_cross_entropy_rows(c.x, {c.weight, c.bias}, c.labels);
  const at::Tensor total = s2s::linear_cross_entropy(c.x, {c.weight, c.bias}, c.labels);
  CHECK(rows.loss_NK.sum().item<double>() == doctest::Approx(total.item<double>()).epsilon(1e-5));
  const at::Tensor logits = at::linear(c.x, c.weight, c.bias).view({20, 3, 17});
  CHECK(at::equal(rows.predicted_NK, logits.argmax(-1)));
}
